import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { ServiceProcess } from '../../../../scripts/servers/service-process.js';
import { projectFile } from '../../../../shared/process/project-root.js';
import { fileCases } from '../../../shared/files/reading/file-cases.js';
import { startGateway } from '../../../support/admin/console-service.js';
import { type BroughtFile, inOneLine, JobWays } from '../../../support/admin/job-ways.js';
import { sharedConsoleWithBulk } from '../../../support/admin/shared-console.js';
import { demoBundleWith } from '../../../support/http/tool-fixture.js';
import { leaveOut } from '../../../support/leave-out.js';
import { startTimeoutMs } from '../../../support/service/service.js';

const folder = projectFile('../shared/cases');
const isFile = (name: string): boolean => /\.(csv|jsonl)(\.\w+)?$|\.tar\.gz$/.test(name);
const filesIn = (path: string): readonly string[] =>
  existsSync(path)
    ? readdirSync(path)
        .filter(isFile)
        .map((name) => join(path, name))
    : [];
const cases = ['.', 'jobs', 'jobs/good'].flatMap((part) => filesIn(join(folder, part)));

/** The column with the ids, where the header does not say so. */
const idColumns: Readonly<Record<string, string>> = {
  'csv-ids-in-scientific-notation.csv': 'Lead ID',
  'csv-salesforce-report-with-footer.csv': 'Lead ID',
  'jsonl-number-ids-above-2-53.jsonl': 'id',
  'json-id-field-other-case.jsonl': 'lead_id',
};

/** The name says another format than the content. The console goes by the content, and calls say the format. */
const otherNames: Readonly<Record<string, RegExp>> = {
  'csv-as-jsonl.jsonl': /"format": "csv" in "input"$/,
  'json-as-csv.csv': /"format": "jsonl" in "input"$/,
};

const tidy = 'crm_id,Lead Source,Industry\nb1,Referral,Software\n';
const mib = 1024 * 1024;

interface BrokenFile extends Omit<BroughtFile, 'name' | 'bytes'> {
  readonly file: string | Buffer;
  readonly format?: 'jsonl';
  /** Whether the fault is not in the part that the preview reads, or the preview does not know it. */
  readonly isLater?: boolean;
}

/** The files of "Broken files" in docs/bulk.md. */
const brokenFiles: Readonly<Record<string, BrokenFile>> = {
  ...Object.fromEntries(Object.entries(fileCases).filter(([, each]) => 'message' in each)),
  'a NUL character': { file: tidy.replace('ferral', 'fer\0ral') },
  'a damaged gzip file': { file: gzipSync(tidy.repeat(50)).fill(7, 30, 40), isLater: true },
  'a gzip file that ends early': { file: gzipSync(`${tidy}b2,"two\nlines",\n`).subarray(0, -8), isLater: true },
  'two columns of a name that the model reads': { file: tidy.replace('Industry', 'Lead Source') },
  'a crm_id_field that no column has': { file: tidy, crmId: 'Account ID' },
  'a crm_id_field that no record has': {
    ...{ file: '{"crm_id":"b1","Lead Source":"Referral"}\n', format: 'jsonl', crmId: 'Account ID' },
  },
  'no column that the model knows': { file: 'crm_id,Colour\nb1,red\n' },
  'an unknown column in a strict job': { file: 'crm_id,Lead Sorce,Industry\nb1,a,b\n', strict: true, isLater: true },
  'an unknown member in a strict job': {
    ...{ file: '{"crm_id":"b1","Lead Sorce":"a","Industry":"b"}\n', format: 'jsonl', strict: true, isLater: true },
  },
  'a row of 2 MB': { file: `${tidy}b2,${'x'.repeat(2 * mib)},\n`, isLater: true },
  'a header of 2 MB': { file: tidy.replace('Industry', 'x'.repeat(2 * mib)), isLater: true },
};

describe('a file that is brought as a job', function () {
  this.timeout(4 * startTimeoutMs);
  let gateway: ServiceProcess;
  let directory: string;
  let ways: JobWays;

  before(async () => {
    const service = await sharedConsoleWithBulk();
    gateway = await startGateway(service);
    directory = await mkdtemp(join(tmpdir(), 'leadscore-ways-'));
    ways = await JobWays.open(service, {
      ...{ gatewayUrl: gateway.url ?? '', directory, bundle: await demoBundleWith({}) },
    });
  });
  after(async () => {
    await gateway?.stop();
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  });

  const formatOf = (name: string) => (/\.jsonl/.test(name) ? 'jsonl' : 'csv');

  /** Brings a file by console, API and command, and expects the same of each. @returns the job of the console */
  async function brought(file: BroughtFile, { isLater = false } = {}) {
    const { name } = file;
    const before = await ways.counted();
    const [{ preview, ...byConsole }, named, command] = await Promise.all([
      ways.byConsole(file),
      ways.byApi(file, formatOf(name)),
      ways.byCommand(file),
    ]);
    const otherName = otherNames[name];
    if (otherName !== undefined) expect(named.error?.message).to.match(otherName);
    const byApi = otherName === undefined ? named : await ways.byApi(file, preview.format);
    expect(byConsole).to.deep.equal(byApi);
    expect(byConsole.state).to.be.oneOf(['completed', 'failed']);
    expect(command.results).to.equal(named.results);
    if (named.error !== undefined) expect(command.said).to.include(inOneLine(named.error.message));
    const { error, progress } = byConsole;
    if (!isLater) expect(preview.problem?.replace(/\.$/, '')).to.equal(error?.message);
    const after = await ways.counted();
    const scored = [progress.scored, byApi.progress.scored, named.progress.scored];
    expect(after.map((sum, way) => sum - (before[way] ?? 0))).to.deep.equal(scored);
    return byConsole;
  }

  if (cases.length === 0)
    it('gives the same rows or the same sentence by each way', function () {
      leaveOut(this, 'the reported files are not beside the project', 'put them into ../shared/cases');
    });
  for (const path of cases) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const bytes = readFileSync(path);
    if (bytes.length === 0) continue;
    it(`gives the same rows or the same sentence by each way: ${name}`, async () => {
      await brought({ name, bytes, crmId: idColumns[name] }, { isLater: /^gz-(truncated|zero)/.test(name) });
    });
  }

  for (const [title, { file, format = 'csv', isLater, ...options }] of Object.entries(brokenFiles))
    it(`is refused in the same sentence by each way, and counts nothing: ${title}`, async () => {
      const name = `${title.replaceAll(/\W+/g, '-')}.${format}`;
      const { state, progress } = await brought(
        { name, bytes: Buffer.from(file), ...options },
        { isLater: isLater === true },
      );
      expect([state, progress.scored]).to.deep.equal(['failed', 0]);
    });
});
