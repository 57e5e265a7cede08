import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { inputCall, jobOf, newJob } from '../../../http/jobs/job-calls.js';
import { eventually } from '../../../support/eventually.js';
import { scored } from '../../../support/http/score-reply.js';
import { BulkJob } from '../../../support/jobs/bulk-job.js';
import { sharedService, startTimeoutMs } from '../../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../../support/service/workspace.js';
import { type CliResult, callCli } from '../cli-call.js';

describe('leadscore score with the real service', () => {
  let own: TestWorkspace;
  let directory: string;

  before(async function () {
    this.timeout(startTimeoutMs);
    own = await workspace(await sharedService('bulk'));
    directory = await mkdtemp(join(tmpdir(), 'leadscore-score-'));
  });

  after(() => rm(directory, { recursive: true, force: true }));

  const score = (name: string, ...more: string[]): Promise<CliResult> => {
    const to = ['--url', own.service.url(), '--model', own.model._id, '--key', own.live.secret];
    return callCli(['score', join(directory, name), ...to, ...more]);
  };

  const rowsOf = (count: number) =>
    Array.from({ length: count }, (_, index) => `lead-${index},${index % 300},${index % 2 ? 'yes' : ''}`);
  const header = 'crm_id,company_size,demo_requested';

  it('scores and counts every row once, and a file that is scored again finds all earlier scores', async function () {
    this.timeout(60_000);
    const before = await own.ledgerSum();
    await writeFile(join(directory, 'leads.csv'), `${header}\n${rowsOf(2_500).join('\n')}\n`);
    const first = await score('leads.csv', '--json');
    expect(first.exitCode, first.stderr).to.equal(0);
    const { progress, notices } = JSON.parse(first.stdout);
    expect(progress).to.include({ rows: 2_500, scored: 2_500, failed: 0, empty: 0 });
    expect(notices).to.deep.equal(['Not in the file: "lead_source" (of 3 fields that the model knows)']);
    expect((await own.ledgerSum()) - before).to.equal(2_500);
    await score('leads.csv');
    expect((await own.ledgerSum()) - before, 'found again').to.equal(2_500);
    const again = await score('leads.csv', '--again', '--json');
    expect(again.exitCode, again.stderr).to.equal(0);
    expect((await own.ledgerSum()) - before).to.equal(5_000);
    const lines = (await readFile(join(directory, 'leads.scored.csv'), 'utf8')).trimEnd().split('\n').slice(1);
    expect(lines).to.have.length(2_500);
    for (const [index, line] of lines.entries()) {
      const [crmId, size, demo, scored, , enriched, previous, delta] = line.split(',');
      expect([crmId, size, demo, enriched, previous, delta]).to.deep.equal([
        `lead-${index}`,
        `${index % 300}`,
        index % 2 ? 'yes' : '',
        'true',
        scored,
        '0',
      ]);
    }
  });

  it('scores leads by their ids alone, from their earlier values', async function () {
    this.timeout(60_000);
    await writeFile(join(directory, 'known.csv'), `${header}\nk1,5,yes\nk2,7,\n`);
    await score('known.csv');
    await writeFile(join(directory, 'ids.csv'), 'crm_id\nk1\nnever\nk2\n');
    const { exitCode, stdout, stderr } = await score('ids.csv', '--json');
    expect(exitCode, stderr).to.equal(0);
    expect(JSON.parse(stdout).progress).to.include({ rows: 3, scored: 2, failed: 1 });
    const scored = await readFile(join(directory, 'ids.scored.csv'), 'utf8');
    expect(scored)
      .to.match(/^k1,\d+,[\d.]+,true,\d+,0,/m)
      .and.match(/^never,.*expected at least one field/m);
  });

  it('job create --stored scores stored leads again, once a day under one version', async function () {
    this.timeout(60_000);
    const other = await workspace(own.service);
    scored(
      await other.score([
        { crm_id: 's1', company_size: 7 },
        { crm_id: 's2', company_size: 9 },
      ]),
    );
    const create = async (...more: string[]) => {
      const to = ['--url', own.service.url(), '--model', other.model._id, '--key', other.live.secret];
      const { exitCode, stdout, stderr } = await callCli(['job', 'create', '--stored', ...to, ...more]);
      expect(exitCode, stderr).to.equal(0);
      return stdout;
    };
    const idOf = (json: string): string => JSON.parse(json).job_id;
    const id = idOf(await create('--max-rows', '1', '--json'));
    expect(await create('--max-rows', '1'))
      .to.match(new RegExp(`Job +${id}\n`))
      .and.match(/Leads +stored ones that were sent within 90 days, at most 1\n/);
    expect(idOf(await create('--max-rows', '1', '--again', '--json'))).to.not.equal(id);
    expect(idOf(await create('--max-rows', '1', '--format', 'jsonl', '--json'))).to.not.equal(id);
    await eventually(async () => expect(await other.ledgerSum()).to.equal(2 + 3), 30_000);
    expect((await new BulkJob(other, id).cells()).map(([, crmId]) => crmId)).to.deep.equal(['s2']);
  });

  it('ends with the values and names that the model does not know, over all slices', async function () {
    this.timeout(60_000);
    const rows = Array.from({ length: 1_500 }, (_, index) => `${index % 3 ? 5 : 'lots'},Fax,yes`);
    await writeFile(join(directory, 'told.csv'), `company_size,lead_source,demo_requestd\n${rows.join('\n')}\n`);
    const { exitCode, stdout, stderr } = await score('told.csv');
    expect(exitCode, stderr).to.equal(0);
    expect(stdout)
      .to.match(/^lead_source +100 % +1,500$/m)
      .and.match(/^company_size +100 % +500 +expected a number$/m)
      .and.match(/^demo_requestd: did you mean demo_requested\?$/m);
  });

  it('writes the rows that failed into a file that is scored once they are corrected', async function () {
    this.timeout(60_000);
    const before = await own.ledgerSum();
    const lines = [header, 'e1,5,yes', 'e2,5,yes,more', '"e3",5,yes', `${'x'.repeat(300)},6,`];
    await writeFile(join(directory, 'bad.csv'), `${lines.join('\r\n')}\r\n`);
    const { exitCode, stdout } = await score('bad.csv');
    expect(exitCode).to.equal(0);
    expect(stdout).to.include('2 rows have no score, and are not counted.');
    const errors = join(directory, 'bad.errors.csv');
    expect(await readFile(errors, 'utf8')).to.equal(`${header}\n${lines[2]}\r\n${lines[4]}\r\n`);
    await writeFile(errors, `${header}\ne2,5,yes\ne4,6,\n`);
    const corrected = await score('bad.errors.csv');
    expect(corrected.exitCode, corrected.stderr).to.equal(0);
    expect((await own.ledgerSum()) - before).to.equal(4);
  });

  it('refuses an upload that is not the announced file, and counts nothing', async () => {
    const sha256 = 'a'.repeat(64);
    const { job_id: id } = await newJob(own, { input: { format: 'csv', name: 'x.csv', sha256 } });
    await inputCall(own, id, 'PUT', { bytes: Buffer.from(`${header}\ne1,5,yes\n`) });
    await eventually(async () => {
      const job = jobOf(await own.call(`/v1/jobs/${id}`));
      expect(job).to.include({ state: 'failed' });
      expect(job.error?.message).to.match(
        /^The upload is not the file that the job names: its SHA-256 is [0-9a-f]{64}/,
      );
    });
    const refused = await own.call('/v1/jobs?input_sha256=abc');
    expect(refused.status).to.equal(422);
    expect(refused.text).to.include('input_sha256 must be the SHA-256 of the file: 64 characters of 0-9 and a-f');
  });

  it('scores a file of 1000 rows without worker processes of bulk jobs', async function () {
    this.timeout(60_000);
    await writeFile(join(directory, 'small.csv'), `${header}\n${rowsOf(1_000).join('\n')}\n`);
    const { exitCode, stderr } = await score('small.csv');
    expect(exitCode, stderr).to.equal(0);
  });
});
