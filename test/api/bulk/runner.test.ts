import { expect } from 'chai';
import { monthEndMs } from '../../../shared/contract/dates.js';
import { eraseLead, erasingStores } from '../../../shared/store/calls/erasures.js';
import { JobStore } from '../../../shared/store/jobs/jobs.js';
import { eventually } from '../../support/eventually.js';
import { scored } from '../../support/http/score-reply.js';
import { BulkJob } from '../../support/jobs/bulk-job.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { itInFull } from '../../support/tier.js';

const sizeOf = (row: number): number => (row * 379) % 500;

/** A CSV file with a row for each number from 1. */
const csvOf = (rows: number, lineOf = (row: number) => `L-${row},${sizeOf(row)}`): string =>
  `crm_id,company_size\n${Array.from({ length: rows }, (_, index) => `${lineOf(index + 1)}\n`).join('')}`;

describe('the runner of bulk jobs', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('bulk');
  });

  async function expectCounted(own: TestWorkspace, records: number, bucket: 'live' | 'test' = 'live'): Promise<void> {
    expect(await own.ledgerSum(bucket)).to.equal(records);
    await eventually(async () => expect(await own.redisUsage(bucket)).to.deep.equal({ used: records, leased: 0 }));
  }

  it('scores each row of a file once, in order, with the scores of POST /v1/score', async function () {
    this.timeout(60_000);
    const own = await workspace(service);
    const job = await BulkJob.create(own, csvOf(3_500));
    const { settled, file, purge_at: purgeAt, ended_at: endedAt } = await job.until('completed');
    expect(settled).to.include({ slices: 4, rows: 3_500, scored: 3_500, failed: 0, empty: 0 });
    expect(file).to.include({ rows: 3_500, slices: 4 });
    expect(Number(purgeAt) - Number(endedAt)).to.equal(7 * 24 * 60 * 60 * 1_000);
    const cells = await job.cells();
    expect(cells.map(([crmId]) => crmId)).to.deep.equal(Array.from({ length: 3_500 }, (_, index) => `L-${index + 1}`));
    const records = Array.from({ length: 50 }, (_, index) => ({ company_size: sizeOf(index + 1) }));
    const other = await workspace(service);
    const { scores } = scored(await other.score(records));
    expect(cells.slice(0, 50).map(([, , score, likelihood]) => [Number(score), Number(likelihood)])).to.deep.equal(
      scores.map(({ score, conversion_likelihood }) => [score, conversion_likelihood]),
    );
    // Slices are scored four at a time, so their calls begin in any order.
    const calls = new Map((await own.ledgerRows()).map((row) => [row._id, [row.records, row.request_id]]));
    expect(calls.size).to.equal(4);
    const ofSlices = (await job.allSlices()).map(({ outcome }) => calls.get(outcome?.call_id ?? ''));
    expect(ofSlices).to.deep.equal([...Array.from({ length: 3 }, () => [1_000, job.id]), [500, job.id]]);
    expect(await own.predictions()).to.have.length(3_500);
    await expectCounted(own, 3_500);
    expect(
      await service.stores.database.collection<{ _id: string }>('job_blobs').countDocuments({ _id: /input$/ }),
    ).to.equal(0);
  });

  it('scores slices of 2000 rows for a large plan, each as one call', async function () {
    this.timeout(60_000);
    const own = await workspace(service, { limit: 100_000 });
    const job = await BulkJob.create(own, csvOf(4_500));
    const { settled } = await job.until('completed');
    expect(settled).to.include({ slices: 3, rows: 4_500, scored: 4_500, failed: 0, empty: 0 });
    const cells = await job.cells();
    expect(cells.map(([crmId]) => crmId)).to.deep.equal(Array.from({ length: 4_500 }, (_, index) => `L-${index + 1}`));
    const again = await BulkJob.create(own, csvOf(2_000));
    await again.until('completed');
    expect((await again.cells()).map((row) => row[5])).to.deep.equal(cells.slice(0, 2_000).map((row) => row[2]));
    const counts = (await own.ledgerRows()).map(({ records }) => records).sort((a, b) => b - a);
    expect(counts).to.deep.equal([2_000, 2_000, 2_000, 500]);
    await expectCounted(own, 6_500);
  });

  it('lists rows that cannot be scored, counts only the others, and copies empty rows', async function () {
    this.timeout(60_000);
    const own = await workspace(service);
    const lines = ['A,1', 'B,no number at all', '', 'C,3,too,many', 'D,4'];
    const job = await BulkJob.create(
      own,
      csvOf(lines.length, (row) => lines[row - 1] ?? ''),
    );
    const { settled } = await job.until('completed');
    expect(settled.rows).to.equal(5);
    expect(settled.scored + settled.failed + settled.empty).to.equal(5);
    expect(settled.empty).to.equal(1);
    expect((await job.text()).split('\n')).to.have.length(6);
    expect(await job.text('errors'))
      .to.include('\n')
      .and.match(/^4,/m);
    await expectCounted(own, settled.scored);
  });

  it('pauses at the limit, and resumes by itself after the limit was raised', async function () {
    this.timeout(90_000);
    const own = await workspace(service, { limit: 1_500 });
    const job = await BulkJob.create(own, csvOf(2_500));
    const paused = await job.until('paused');
    expect(paused.pause).to.include({ reason: 'quota_exceeded' });
    expect(Number(paused.pause?.resume_at)).to.equal(monthEndMs(service.clock.now()));
    // The last slice of 500 rows would fit, but results without the rows before it would be of no use.
    await expectCounted(own, 1_000);
    expect(await job.cells()).to.have.length(1_000);
    await own.change({ limit: 2_500 });
    await job.until('completed');
    await expectCounted(own, 2_500);
  });

  it('pauses a running job while its organisation is suspended, and resumes it by itself', async function () {
    this.timeout(120_000);
    const rows = 30_000;
    const own = await workspace(service, { limit: rows });
    const job = await BulkJob.create(own, csvOf(rows));
    await eventually(async () => expect(await own.ledgerSum()).to.be.above(0), 60_000);
    await own.change({ suspended: { at: new Date(), by: 'Olga', reason: 'not paid' } });
    const { pause } = await job.until('paused');
    expect(pause).to.include({ reason: 'workspace_suspended' }).and.not.have.property('resume_at');
    const counted = await own.ledgerSum();
    expect(counted).to.be.within(1_000, rows - 1_000);
    await expectCounted(own, counted);
    await own.change({}, ['suspended']);
    await job.until('completed');
    await expectCounted(own, rows);
    expect((await job.cells()).map(([crmId]) => crmId)).to.deep.equal(
      Array.from({ length: rows }, (_, index) => `L-${index + 1}`),
    );
  });

  itInFull('uses the grace band only with stop_at backstop', async function () {
    this.timeout(60_000);
    const own = await workspace(service, { limit: 1_000 });
    const job = await BulkJob.create(own, csvOf(2_000), { stop_at: 'backstop' });
    await job.until('completed');
    await expectCounted(own, 2_000);
  });

  itInFull('pauses while Live API is off, and goes on once it is on', async function () {
    this.timeout(90_000);
    const own = await workspace(service);
    await own.changeModel(own.model._id, { live_api: false });
    const job = await BulkJob.create(own, csvOf(10));
    expect((await job.until('paused')).pause?.reason).to.equal('api_disabled');
    await own.changeModel(own.model._id, { live_api: true });
    await job.until('completed');
    await expectCounted(own, 10);
  });

  it('pauses after too many errors', async function () {
    this.timeout(60_000);
    const own = await workspace(service);
    const job = await BulkJob.create(
      own,
      csvOf(20_000, (row) => `L-${row},${row % 2 ? '1' : '1,2'}`),
      { max_errors: 100 },
    );
    expect((await job.until('paused')).pause?.reason).to.equal('too_many_errors');
  });

  itInFull('scores with a test key into the test bucket', async function () {
    this.timeout(60_000);
    const own = await workspace(service);
    const job = await BulkJob.create(own, csvOf(20), { bucket: 'test' });
    await job.until('completed');
    await expectCounted(own, 20, 'test');
    expect(await own.predictions()).to.deep.equal([]);
  });

  it('makes a job failed, with the position in the file, when the file cannot be read', async function () {
    this.timeout(60_000);
    const own = await workspace(service);
    const job = await BulkJob.create(own, 'crm_id,nothing that the model knows\n1,2\n');
    const { failure } = await job.until('failed');
    expect(failure?.message).to.be.a('string').and.not.equal('');
    await expectCounted(own, 0);
  });

  itInFull('scores no further slice of a canceled job', async function () {
    this.timeout(60_000);
    const own = await workspace(service);
    const job = await BulkJob.create(own, csvOf(30_000));
    await job.until('running');
    await new JobStore(service.stores.database).change(job.id, ['running'], {
      $set: { state: 'canceled', ended_at: new Date(service.clock.now()) },
    });
    await eventually(async () => {
      const { leased } = await own.redisUsage();
      expect(leased).to.equal(0);
    });
    const sum = await own.ledgerSum();
    expect(sum).to.be.below(30_000);
    await expectCounted(own, sum);
    // Rows that are counted are shown.
    await eventually(async () => expect((await job.read()).settled.scored).to.equal(sum));
  });

  it('gives each of two organisations its turns', async function () {
    this.timeout(120_000);
    // More rows than a machine scores until a runner finds and scores the other job.
    const rows = 300_000;
    const [many, few] = [await workspace(service, { limit: rows }), await workspace(service)];
    const long = await BulkJob.create(many, csvOf(rows));
    await long.until('running');
    const short = await BulkJob.create(few, csvOf(2_000));
    await short.until('completed');
    expect((await long.read()).state).to.equal('running');
    await new JobStore(service.stores.database).change(long.id, ['running'], {
      $set: { state: 'canceled', ended_at: new Date(service.clock.now()) },
    });
  });

  it('erases a lead from results, so that the bytes of all later slices move', async function () {
    this.timeout(60_000);
    const own = await workspace(service);
    const job = await BulkJob.create(own, csvOf(2_500));
    const before = await job.until('completed');
    await eraseLead(erasingStores(service.stores.database), { organisationId: own.id, crmId: 'L-7' });
    const after = await job.read();
    const text = await job.text();
    expect(Buffer.byteLength(text)).to.equal(after.settled.result_bytes);
    expect(after.revision).to.equal(before.revision + 1);
    const lines = text.split('\n');
    expect(lines[6]).to.match(/^,,\d+,/);
    expect(lines.filter((line) => line.startsWith('L-7,'))).to.deep.equal([]);
    expect(lines[7]).to.match(/^L-8,/);
  });
});
