import { expect } from 'chai';
import { callsCollection } from '../../../shared/store/calls/prediction-segment.js';
import type { LedgerRow } from '../../../shared/store/calls/usage-ledger.js';
import { eventually } from '../../support/eventually.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { BulkJob } from '../../support/jobs/bulk-job.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { changeJob, download, jobOf, newJob } from './job-calls.js';

const sizeOf = (row: number): number => (row * 379) % 500;
const leadsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({ crm_id: `L-${first + index}`, company_size: sizeOf(first + index) }));

describe('a bulk job of stored leads', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('bulk');
  });

  const createStored = async (own: TestWorkspace, input: object = {}): Promise<BulkJob> =>
    new BulkJob(own, (await newJob(own, { input: { source: 'stored', ...input } })).job_id);

  async function expectCounted(own: TestWorkspace, records: number): Promise<void> {
    expect(await own.ledgerSum()).to.equal(records);
    await eventually(async () => expect(await own.redisUsage()).to.deep.equal({ used: records, leased: 0 }));
  }

  it('scores the newest values of each lead once, newest first, with the same scores, and counts them', async function () {
    this.timeout(60_000);
    const own = await workspace(service);
    const ofFile = await BulkJob.create(
      own,
      `crm_id,company_size\n${leadsFrom(1, 1_200)
        .map(({ crm_id: id, company_size: size }) => `${id},${size}\n`)
        .join('')}`,
    );
    await ofFile.until('completed');
    scored(await own.score([{ crm_id: 'L-7', company_size: 480 }, { company_size: 3 }, ...leadsFrom(2_001, 2)]));
    const before = new Map((await own.predictions()).map(({ crm_id: id = '', ...row }) => [id, row]));

    const job = await createStored(own);
    const { settled, file } = await job.until('completed');
    expect(settled).to.include({ slices: 2, rows: 1_202, scored: 1_202, failed: 0, empty: 0 });
    expect(file?.header_line).to.match(/^row,crm_id,score,conversion_likelihood,/);
    const cells = await job.cells();
    expect(cells.slice(0, 3).map(([, crmId]) => crmId)).to.deep.equal(['L-2002', 'L-2001', 'L-7']);
    expect(new Set(cells.map(([, crmId]) => crmId)).size).to.equal(1_202);
    for (const [, crmId = '', score, likelihood] of cells)
      expect([crmId, Number(score), Math.round(Number(likelihood) * 10_000)]).to.deep.equal([
        crmId,
        before.get(crmId)?.score,
        before.get(crmId)?.likelihood,
      ]);
    const again = (await own.predictions()).slice(-1_202);
    for (const { crm_id: id = '', fields } of again) expect(fields, id).to.equal(before.get(id)?.fields);
    await expectCounted(own, 1_200 + 4 + 1_202);
    const calls = await service.stores.database
      .collection<LedgerRow>(callsCollection)
      .find({ request_id: job.id })
      .toArray();
    expect(calls.map(({ source }) => source)).to.deep.equal(['stored', 'stored']);

    // The calls of the first job do not make its leads newer.
    const few = await createStored(own, { max_rows: 2, sent_within_days: 1, format: 'jsonl', name: 'nightly' });
    const { notices } = await few.until('completed');
    expect(notices).to.deep.equal([
      'The job takes the 2 leads that were sent last. Any others are left out. "max_rows" (--max-rows) sets their number.',
    ]);
    const lines = (await few.text()).split('\n').filter((line) => line !== '');
    expect(lines.map((line) => JSON.parse(line).crm_id)).to.deep.equal(['L-2002', 'L-2001']);
    expect(jobOf(await own.call(`/v1/jobs/${few.id}`)).input).to.deep.equal({
      ...{ source: 'stored', sent_within_days: 1, max_rows: 2 },
      ...{ format: 'jsonl', name: 'nightly', bytes_received: 0 },
    });
    await expectCounted(own, 1_200 + 4 + 1_202 + 2);
  });

  it('pauses at the limit, leaves out a lead that is erased meanwhile, and takes the values that were sent since', async function () {
    this.timeout(60_000);
    const own = await workspace(service, { limit: 6 });
    scored(await own.score(leadsFrom(1, 4)));
    const job = await createStored(own);
    const { pause } = await job.until('paused');
    expect(pause?.reason).to.equal('quota_exceeded');
    expect((await job.read()).notices?.[0]).to.match(/^The job has 4 rows, and this month has room for 2 records/);
    await expectCounted(own, 4);
    expect((await own.call('/v1/scores/L-3', { method: 'DELETE' })).status).to.equal(204);
    const { scores } = scored(await own.score([{ crm_id: 'L-2', company_size: 499 }]));
    await own.change({ limit: 100 });
    expect((await job.until('completed')).settled).to.include({ rows: 4, scored: 3, failed: 0, empty: 1 });
    const cells = await job.cells();
    expect(cells.map(([row, crmId]) => `${row} ${crmId}`)).to.deep.equal(['1 L-4', '2 ', '3 L-2', '4 L-1']);
    expect(cells[1]?.slice(1).join('')).to.equal('');
    expect(Number(cells[2]?.[2])).to.equal(scores[0]?.score);
    await expectCounted(own, 4 + 1 + 3);
    const { bytes } = await download(own, `${job.id}/results`);
    expect(String(bytes)).to.not.include('L-3');
    expect((await own.call('/v1/scores/L-4', { method: 'DELETE' })).status).to.equal(204);
    expect(await job.text()).to.not.include('L-4');
  });

  it('completes without a row if no lead was sent', async function () {
    this.timeout(60_000);
    const own = await workspace(service);
    const job = await createStored(own, { sent_within_days: 7 });
    const { settled, notices } = await job.until('completed');
    expect(settled.rows).to.equal(0);
    expect(notices).to.deep.equal([
      'No lead was sent to this model in the last 7 days, so there is nothing to score again.',
    ]);
  });

  it('is refused to test keys and to keys that may not read, and with members about a file', async () => {
    const own = await workspace(service);
    const body = (input: object = {}, others: object = {}) => ({
      model_id: own.model._id,
      input: { source: 'stored', ...input },
      ...others,
    });
    const call = (sent: object, key = own.live) => own.call('/v1/jobs', { key, body: sent });
    expect(refused(await call(body(), own.test), '400 bad_request').error.message).to.include('Calls of test keys');
    const narrow = await own.addKey('live', { scopes: ['score', 'jobs'] });
    expect(refused(await call(body(), narrow), '403 insufficient_scope').error.message).to.include('the scope read');
    refused(await call(body(), await own.addKey('live', { scopes: ['score', 'read'] })), '403 insufficient_scope');
    for (const [sent, named] of [
      [body({ crm_id_field: 'Id', bytes: 7 }), 'input.crm_id_field, input.bytes'],
      [body({ sha256: 'a'.repeat(64) }), 'input.sha256'],
      [body({}, { output: { include_input: true } }), 'output.include_input'],
      [body({}, { strict: true }), 'strict'],
      [body({ source: 'upload', max_rows: 5 }), 'input.max_rows'],
      [body({ max_rows: 0 }), 'max_rows'],
      [body({ sent_within_days: 366 }), 'sent_within_days'],
      [body({ source: 'crm' }), 'source'],
    ] as const)
      expect(refused(await call(sent), '422 bad_request').error.message).to.include(named);
    expect(await own.ledgerSum()).to.equal(0);
    const { job_id: id } = jobOf(await call(body({}, { output: { include_input: false }, strict: false })), 201);
    await changeJob(service, id, { state: 'canceled' });
    for (const kind of ['results', 'errors'])
      refused(await own.call(`/v1/jobs/${id}/${kind}`, { key: narrow }), '403 insufficient_scope');
    refused(await own.call(`/v1/jobs/${id}/input`, { method: 'PUT', body: 'crm_id\n1\n' }), '409 job_state_conflict');
  });
});
