import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { csvCells } from '../../../../scripts/cli/files/csv-cells.js';
import { projectFile } from '../../../../shared/process/project-root.js';
import { scoredRow } from '../../../support/http/score-reply.js';
import { demoBundleWith } from '../../../support/http/tool-fixture.js';
import { leaveOut } from '../../../support/leave-out.js';
import { sharedService, startTimeoutMs } from '../../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../../support/service/workspace.js';
import { type CliResult, callCli } from '../cli-call.js';

const folder = projectFile('../shared/cases');
const caseFile = (context: Mocha.Context, name: string): Promise<Buffer> =>
  readFile(join(folder, name)).catch(() =>
    leaveOut(context, `${name} is not beside the project`, 'put it into ../shared/cases'),
  );

const lines = (...rows: readonly string[]): string => `${rows.join('\n')}\n`;

/** A file with the same leads as a case, tidy. `told`: a line at the end of the run. */
interface ReadFile {
  readonly tidy: string;
  readonly crmId?: string;
  readonly told?: RegExp;
}

const one = (id: string): string => lines('crm_id,Lead Source,Industry', `${id},Referral,Software`);
const twoSized = (first: string, second: string): string =>
  lines('crm_id,Lead Source,Industry,Number of Employees', `${first},Referral,Software,420`, second);

const readFiles: Readonly<Record<string, ReadFile>> = {
  'csv-crm-id-header-other-case.csv': { tidy: one('U-1') },
  'csv-dmy-slashes-half-wrong.csv': {
    tidy: lines(
      'crm_id,Lead Source,Industry,Last Activity Date',
      ...['2026-01-11', '2026-05-11', '2026-09-11', '2026-12-11', '', ''].map(
        (date, index) => `f${index},Referral,Software,${date}`,
      ),
    ),
    told: /^Last Activity Date: the model reads month\/day\/year: 2 of 6 unread, 4 ambiguous$/m,
  },
  'csv-duplicate-header-unknown-to-model.csv': { tidy: one('d-1') },
  'csv-european-dates-unreadable-untold.csv': {
    tidy: lines(
      'crm_id,Lead Source,Industry,Demo Requested',
      ...Array.from({ length: 6 }, (_, index) => `e${index},Referral,Software,true`),
    ),
    told: /^Annual Revenue +100 % +6 +expected a number\nLast Activity Date +100 % +6 +expected a date/m,
  },
  'csv-excel-sep-line-quoted-tab.csv': { tidy: one('s-4') },
  'csv-excel-sep-line.csv': { tidy: twoSized('s-1', 's-2,Website,Retail,12') },
  'csv-one-lead-without-any-field.csv': {
    tidy: lines('crm_id,Lead Source,Industry', 'I1,Referral,Software', 'I3,Website,Retail'),
    told: /^csv-one-lead-without-any-field\.csv, line 3: expected at least one field that the model knows, came none$/m,
  },
  'csv-pandas-boolean-1.0.csv': {
    tidy: lines(
      'crm_id,Lead Source,Industry,Demo Requested,Email Opt Out',
      ...['b1,Referral,Software,true,false', 'b2,Referral,Software,true,false', 'b3,Referral,Software,,'],
    ),
  },
  'csv-salesforce-report-with-footer.csv': {
    tidy: twoSized('00Q000000000001', '00Q000000000002,Website,Retail,12'),
    crmId: 'Lead ID',
  },
  'csv-trailing-empty-cells-omitted.csv': {
    tidy: lines(
      'crm_id,Lead Source,Industry,Number of Employees,Demo Requested',
      ...['g-1,Referral,Software,420,true', 'g-2,Website,Retail,,', 'g-3,Website,Retail,12,'],
    ),
  },
  'csv-utf16-gzipped.csv.gz': { tidy: one('u-1') },
  'csv-utf16-without-mark.csv': { tidy: one('u-1') },
  'csv-whitespace-only-rows.csv': { tidy: `${one('s1')}s2,Referral,Software\n` },
  'jsonl-number-ids-above-2-53.jsonl': {
    tidy: lines(
      'crm_id,Lead Source,Industry',
      '90071992547409931,Referral,Software',
      '90071992547409932,Website,Retail',
    ),
    crmId: 'id',
  },
};

/** The message that refuses each file, with the remedy. */
const refusedFiles: Readonly<Record<string, { readonly message: RegExp; readonly crmId?: string }>> = {
  'csv-html-table-of-an-xls-export.csv': {
    message: /an HTML or XML page.*Open it in a spreadsheet and save it as CSV/,
  },
  'csv-ids-in-scientific-notation.csv': {
    message: /The crm_id in line 2, column 1 is 1\.20214E\+17.*Export the file from the CRM again/,
    crmId: 'Lead ID',
  },
  'csv-preamble-line.csv': { message: /Line 1 stands before the names of the columns, which are in line 3.*[Dd]elete/ },
  'csv-stray-opening-quote-swallows-rows.csv': {
    message: /The quote in line 2, column 4 opens a cell of several lines.*Remove the quote/,
  },
};

type ScoreOfRow = readonly [crmId: string, score: string];

const jsonRows = (text: string): ScoreOfRow[] =>
  text
    .trimEnd()
    .split('\n')
    .map((row): { crm_id?: string; score?: number } => JSON.parse(row))
    .map(({ crm_id = '', score = '' }) => [crm_id, String(score)]);

async function csvRows(path: string): Promise<ScoreOfRow[]> {
  const rows: ScoreOfRow[] = [];
  for await (const cells of csvCells(path)) rows.push([cells.get('crm_id') ?? '', cells.get('score') ?? '']);
  return rows;
}

describe('the reported files and calls, with the model of the demo', () => {
  let own: TestWorkspace;
  let directory: string;

  before(async function () {
    this.timeout(startTimeoutMs);
    own = await workspace(await sharedService('bulk'), { bundle: await demoBundleWith({}) });
    directory = await mkdtemp(join(tmpdir(), 'leadscore-cases-'));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  /** A test key: no lead has earlier values. */
  const run = (path: string, output: string, crmId?: string): Promise<CliResult> =>
    callCli([
      ...['score', path, '--url', own.service.url(), '--model', own.model._id, '--key', own.test.secret],
      ...['--only-scores', '--yes', '--out', output, ...(crmId === undefined ? [] : ['--crm-id', crmId])],
    ]);

  /** The scores of a file by crm_id, and the end of the run. */
  async function scoresOf(path: string, crmId?: string) {
    const isJson = path.endsWith('.jsonl');
    const output = join(await mkdtemp(join(directory, 'run-')), isJson ? 'scored.jsonl' : 'scored.csv');
    const { exitCode, stdout, stderr } = await run(path, output, crmId);
    expect(exitCode, stderr).to.equal(0);
    const rows = isJson ? jsonRows(await readFile(output, 'utf8')) : await csvRows(output);
    const scores = rows.filter(([, score]) => score !== '');
    return { scores, stdout };
  }

  for (const [name, { tidy, crmId, told }] of Object.entries(readFiles))
    it(`scores the leads of ${name} as their tidy form${told === undefined ? '' : ', and names the rest'}`, async function () {
      await caseFile(this, name);
      const path = join(await mkdtemp(join(directory, 'tidy-')), 'tidy.csv');
      await writeFile(path, tidy);
      const { scores, stdout } = await scoresOf(join(folder, name), crmId);
      const expected = await scoresOf(path);
      expect(scores).to.deep.equal(expected.scores).and.not.deep.equal([]);
      if (told !== undefined) expect(stdout).to.match(told);
    });

  for (const [name, { message, crmId }] of Object.entries(refusedFiles))
    it(`refuses ${name} with a remedy, and counts nothing`, async function () {
      await caseFile(this, name);
      const before = await own.ledgerSum('test');
      const { exitCode, stdout } = await run(join(folder, name), join(directory, `scored.${name}`), crmId);
      expect(exitCode).to.equal(1);
      expect(stdout.replaceAll(/\s+/g, ' ')).to.match(message);
      expect(await own.ledgerSum('test')).to.equal(before);
    });

  const form = 'application/x-www-form-urlencoded';
  const webhook = async (context: Mocha.Context, name: string, type: string) => {
    const body = await caseFile(context, name);
    const headers = { 'content-type': type };
    return own.call(`/v1/webhooks/score?model_id=${own.model._id}`, {
      body: body.toString().trimEnd(),
      headers,
      key: own.test,
    });
  };

  for (const [name, type, record] of [
    [
      'webhook-date-as-serial-number.json',
      'application/json',
      {
        ...{ 'Lead Source': 'Website', Industry: 'Software', Country: 'Germany', 'Number of Employees': 420 },
        ...{ 'Created Date': '2026-11-20', 'Last Activity Date': '2026-11-20' },
      },
    ],
    ['webhook-form-activecampaign.txt', form, { 'Lead Source': 'Referral', Industry: 'Software' }],
    ['webhook-form-brackets.txt', form, { 'Lead Source': 'Referral', 'Products of Interest': 'Analytics;Forecasting' }],
  ] as const)
    it(`scores ${name} as its tidy form`, async function () {
      const reply = await webhook(this, name, type);
      expect(reply.status, reply.text).to.equal(200);
      const { score } = scoredRow(await own.score([record], { key: own.test }));
      expect(JSON.parse(reply.text)).to.include({ score });
    });

  it('refuses webhook-multipart-form-data.txt with a remedy', async function () {
    const reply = await webhook(this, 'webhook-multipart-form-data.txt', 'multipart/form-data; boundary=x');
    expect(reply.status).to.equal(422);
    expect(reply.text).to.include('multipart/form-data is not read: send the same fields as application/json or');
  });
});
