import { expect } from 'chai';
import { PartPlaces } from '../../../api/bulk/reading/part-places.js';
import { RowReader } from '../../../api/bulk/rows/row-reader.js';
import type { ReadJob } from '../../../api/bulk/score-slice.js';
import { completeIfSettled, settlePrefix } from '../../../api/bulk/settle-prefix.js';
import type { Mongo } from '../../../shared/store/connection/connect.js';
import { inTransaction } from '../../../shared/store/connection/transaction.js';
import { createJob } from '../../../shared/store/jobs/create-job.js';
import { type Job, noTotals, type SliceOutcome, sliceId } from '../../../shared/store/jobs/job-documents.js';
import type { SliceStore } from '../../../shared/store/jobs/job-slices.js';
import type { JobUploadStore } from '../../../shared/store/jobs/job-uploads.js';
import type { JobStore } from '../../../shared/store/jobs/jobs.js';
import { freshJobStores } from '../../support/jobs/job-stores.js';
import { sampleJob } from '../../support/jobs/sample-job.js';
import { profile } from '../../support/service/shard-keys.js';

const leaseMs = 30_000;
const nowMs = Date.UTC(2026, 1, 10);
const noInput = { records: 0, counts: [], ignored: [{ name: 'column' }], different: 1 };
const sizes = { result_bytes: 10, result_gzip_bytes: 7, error_bytes: 3, error_gzip_bytes: 2 };

describe('the settled prefix of a bulk job', () => {
  let mongo: Mongo;
  let jobs: JobStore;
  let slices: SliceStore;
  let uploads: JobUploadStore;
  let count = 0;

  before(async () => {
    ({ mongo, jobs, slices, uploads } = await freshJobStores());
  });
  after(() => mongo.client.close());

  /** A running job. @param ages of the outcomes of its slices in ms; undefined for a pending one */
  async function jobWith(ages: readonly (number | undefined)[]): Promise<ReadJob> {
    count += 1;
    const _id = `job_prefix${String(count).padStart(20, '0')}`;
    const shape = { format: 'csv', columns: ['a'], delimiter: ',', crm_id_field: undefined } as const;
    const job = sampleJob({
      _id,
      org: 'org_prefix',
      input: noInput,
      file: { shape, rows: 2 * ages.length, slices: ages.length, header_line: 'a\n' },
    });
    await createJob(mongo.database, job, 1_000);
    for (const [number, age] of ages.entries()) {
      const slice = { number, rows: 2, first_row: 2 * number + 1, first_line: 2 * number + 2 };
      await slices.add(_id, [{ slice, input: Buffer.from('rows') }]);
      if (age !== undefined) await finish(_id, number, age);
    }
    return await read(_id);
  }

  async function finish(jobId: string, number: number, age = 0, of: Partial<SliceOutcome> = {}): Promise<void> {
    const counts = { scored: 1, failed: 1, empty: 0 };
    const outcome: SliceOutcome = { ...sizes, ...counts, done_at: new Date(nowMs - age), ...of };
    const rows = { results: Buffer.from('results'), errors: Buffer.from('errors') };
    const finishing = { timeoutMs: 5_000 };
    await inTransaction(
      mongo.client,
      (options) => slices.finish(sliceId(jobId, number), outcome, rows, options),
      finishing,
    );
  }

  const read = async (id: string) => (await jobs.findById(id)) as ReadJob;
  const deps = () => ({ jobs, slices, uploads, leaseMs, clock: { now: () => nowMs } });
  const settle = async ({ _id }: Job, ended: readonly number[] = []) =>
    settlePrefix(await read(_id), new Set(ended.map((number) => sliceId(_id, number))), deps());

  it('ends before the first slice that is not finished, whatever comes after it', async () => {
    const job = await jobWith([0, 0, undefined, 0]);
    const totals = await settle(job, [0, 1, 3]);
    expect(totals).to.deep.equal({
      ...{ slices: 2, rows: 4, scored: 2, failed: 2, empty: 0 },
      ...{ result_bytes: 20, result_gzip_bytes: 14, error_bytes: 6, error_gzip_bytes: 4 },
    });
    expect((await read(job._id)).settled).to.deep.equal(totals);
    const states = (await slices.list(job._id, { from: 0, limit: 9 })).map(({ state, start }) => [state, start]);
    const none = { result_bytes: 0, result_gzip_bytes: 0, error_bytes: 0, error_gzip_bytes: 0 };
    expect(states).to.deep.equal([
      ['settled', none],
      ['settled', sizes],
      ['pending', undefined],
      ['done', undefined],
    ]);
    expect(await slices.read(sliceId(job._id, 1), 'input')).to.equal(undefined);
    expect(String(await slices.read(sliceId(job._id, 3), 'input'))).to.equal('rows');
  });

  it('removes the rows of its slices without a read of those of other jobs', async () => {
    await jobWith(Array.from({ length: 50 }, () => 0));
    const job = await jobWith([0, 0]);
    await jobWith(Array.from({ length: 50 }, () => 0));
    await profile(mongo.database);
    expect((await settle(job, [0, 1])).slices).to.equal(2);
    await mongo.database.command({ profile: 0 });
    const removals = await mongo.database
      .collection('system.profile')
      .find({ ns: /\.job_blobs$/, op: 'remove' })
      .toArray();
    expect(removals.map(({ ndeleted }) => ndeleted)).to.deep.equal([2]);
    for (const { docsExamined } of removals) expect(docsExamined).to.be.within(2, 6);
  });

  it('removes the rows of its slices from an upload, and no other ones, also after a runner that died', async () => {
    const job = await jobWith([]);
    const text = Buffer.from('header|slice 0 |slice 1 |slice 2 |slice 3 |');
    const places = new PartPlaces();
    let end = { parts: 20_000_000, offset: 0 };
    for (let from = 0; from < text.length; from = end.offset) {
      const bytes = text.subarray(from, from + 16);
      places.add({ number: end.parts, offset: from, length: bytes.length });
      end = await uploads.append(job._id, end, bytes);
    }
    const other = await jobWith([]);
    await uploads.append(other._id, { parts: 20_000_000, offset: 0 }, text);
    const file = { ...job.file, slices: 4 };
    await jobs.change(job._id, ['running'], { $set: { file } });
    for (let number = 0; number < 4; number += 1) {
      const range = places.rangeOf({ from: 7 + 9 * number, to: 16 + 9 * number });
      await slices.add(job._id, [{ slice: { number, rows: 2, first_row: 1, first_line: 2, range } }]);
    }
    const left = async ({ _id }: Job): Promise<string> => {
      const bytes: Buffer[] = [];
      for await (const part of uploads.read(_id)) bytes.push(part);
      return Buffer.concat(bytes).toString();
    };
    const rowsOf = async (number: number): Promise<string> => {
      const { range } = (await slices.find(sliceId(job._id, number))) ?? {};
      const slice = { _id: sliceId(job._id, number), ...(range && { range }) };
      return String(await new RowReader(slices, uploads).rowsOf(slice));
    };
    await finish(job._id, 2);
    await settle(job, [2]);
    expect(await left(job)).to.equal(String(text));
    await finish(job._id, 0);
    expect((await settle(job, [0, 2])).slices).to.equal(1);
    expect(await left(job)).to.equal('slice 1 |slice 2 |slice 3 |');
    await finish(job._id, 1);
    const stale = await read(job._id);
    // A runner that dies here has settled the slice, and has removed nothing.
    const died = await slices.list(job._id, { from: 1, limit: 1 });
    await slices.settle(died.map((slice) => ({ slice, start: noTotals })));
    expect((await settle(job, [1, 2])).slices).to.equal(3);
    expect(await left(job)).to.equal('slice 3 |');
    // A runner that stood still since sees the slices before.
    await settlePrefix(stale, new Set([sliceId(job._id, 1)]), deps());
    expect(await left(job)).to.equal('slice 3 |');
    expect(await rowsOf(3)).to.equal('slice 3 |');
    await finish(job._id, 3);
    const completing = { jobs, uploads, clock: { now: () => nowMs }, retentionMs: 1_000 };
    expect(await completeIfSettled(await read(job._id), await settle(job, [3]), completing)).to.equal(true);
    expect(await left(job)).to.equal('');
    expect(await left(other)).to.equal(String(text));
  });

  it('cuts a part once when runners settle at the same time, and removes whole parts', async () => {
    const job = await jobWith([]);
    const range = (from: number, to: number, first_part: number, last_part = first_part) => ({
      ...{ from, to, first_part, last_part },
    });
    let end = { parts: 0, offset: 0 };
    for (const part of ['0123', '4567', '89ab']) end = await uploads.append(job._id, end, Buffer.from(part));
    const left = async () => (await uploads.parts(job._id, { first: 0, last: 9 })).map(({ bytes }) => String(bytes));
    const removals = [range(0, 2, 0), range(0, 3, 0), range(0, 1, 0)];
    await Promise.all(removals.map((to) => uploads.removeRanges(job._id, range(0, 1, 0), to)));
    await uploads.removeRanges(job._id, range(0, 1, 0), range(2, 3, 0));
    expect(await left()).to.deep.equal(['3', '4567', '89ab']);
    await uploads.removeRanges(job._id, range(3, 5, 0, 1), range(5, 8, 1));
    expect(await left()).to.deep.equal(['89ab']);
    await uploads.removeRanges(job._id, range(3, 5, 0, 1), range(5, 8, 1));
    await uploads.removeRanges(job._id, range(8, 10, 2), range(8, 10, 2));
    expect(await left()).to.deep.equal(['ab']);
  });

  it('includes a slice of another runner only three leases after its call', async () => {
    const job = await jobWith([3 * leaseMs + 1, 3 * leaseMs - 1]);
    expect((await settle(job)).slices).to.equal(1);
    expect((await settle(job, [1])).slices).to.equal(2);
  });

  it('goes on after a runner that died between a slice and the job', async () => {
    const job = await jobWith([0, 0]);
    const wrong = { ...sizes, result_bytes: 99 };
    expect(await slices.settle([{ slice: { _id: sliceId(job._id, 0) }, start: wrong }])).to.equal(true);
    const totals = await settle(job, [1]);
    expect(totals.slices).to.equal(2);
    expect((await slices.find(sliceId(job._id, 0)))?.start?.result_bytes).to.equal(0);
  });

  it('moves once when two runners settle at the same time', async () => {
    const job = await jobWith(Array.from({ length: 100 }, () => 0));
    const all = Array.from({ length: 100 }, (_, number) => number);
    await Promise.all([settle(job, all), settle(job, all), settle(job, all)]);
    const totals = await settle(job, all);
    expect(totals).to.include({ slices: 100, rows: 200, scored: 100, failed: 100, result_bytes: 1_000 });
  });

  it('gives the job the notices of its first slice with a scored row', async () => {
    const job = await jobWith([undefined, undefined, undefined, undefined]);
    await finish(job._id, 0, 0, { scored: 0, failed: 2, notices: ['none'] });
    await settle(job, [0]);
    expect((await read(job._id)).notices).to.equal(undefined);
    await finish(job._id, 1, 0, { notices: ['one', 'two'] });
    await finish(job._id, 2, 0, { notices: ['three'] });
    await Promise.all([settle(job, [1, 2]), settle(job, [1, 2])]);
    await finish(job._id, 3, 0, { notices: ['four'] });
    await settle(job, [3]);
    expect((await read(job._id)).notices).to.deep.equal(['one', 'two']);
  });

  it('adds how the fields were read once, by whichever runner settles, and after one that died', async () => {
    const inputs = [
      { records: 2, counts: [0, 2, 5, 1], ignored: [{ name: 'a', records: 2, meant: ['A'] }], different: 1 },
      { records: 1, counts: [5, 4], ignored: [{ name: 'a', records: 1, meant: ['A'] }], different: 1 },
      { records: 3, counts: [0, 1, 7, 3], ignored: [{ name: 'b', records: 3 }], different: 7 },
    ];
    const job = await jobWith([undefined, undefined, undefined, undefined]);
    for (const [number, input] of inputs.entries()) await finish(job._id, number, 0, { input });
    await finish(job._id, 3, 0, { scored: 0, failed: 2 });
    // A runner that dies here has settled the slice, and has not added its counts.
    const [first] = await slices.list(job._id, { from: 0, limit: 1 });
    await slices.settle(first === undefined ? [] : [{ slice: first, start: noTotals }]);
    await Promise.all([settle(job, [0, 1]), settle(job, [0, 1]), settle(job, [0])]);
    await settle(job, [0, 1]);
    const two = [{ name: 'column' }, { name: 'a', records: 3, meant: ['A'] }];
    const sums = { records: 3, counts: [0, 2, 5, 5], ignored: two, different: 2 };
    expect((await read(job._id)).input).to.deep.equal(sums);
    await Promise.all([settle(job, [2, 3]), settle(job, [2, 3])]);
    const { input } = await read(job._id);
    expect(input).to.deep.include({ records: 6, counts: [0, 3, 5, 5, 7, 3], different: 7 });
    expect(input?.ignored).to.deep.equal([...two, { name: 'b', records: 3 }]);
  });

  it('does not move over sums that an erasure has changed since they were read', async () => {
    const job = await jobWith([0, 0]);
    await settle(job, [0]);
    const stale = await read(job._id);
    await inTransaction(mongo.client, (options) => jobs.resize(job._id, { ...sizes, result_bytes: -4 }, options), {
      timeoutMs: 5_000,
    });
    const ended = new Set([sliceId(job._id, 1)]);
    expect((await settlePrefix(stale, ended, deps())).slices).to.equal(1);
    expect((await settle(job)).result_bytes).to.equal(16);
  });

  it('completes a job when all its slices are settled, and not before', async () => {
    const job = await jobWith([0, undefined]);
    await uploads.append(job._id, { parts: 0, offset: 0 }, Buffer.from('left by a runner that died'));
    const completing = { jobs, uploads, clock: { now: () => nowMs }, retentionMs: 1_000 };
    expect(await completeIfSettled(job, await settle(job, [0]), completing)).to.equal(false);
    await finish(job._id, 1);
    expect(await completeIfSettled(job, await settle(job, [1]), completing)).to.equal(true);
    expect(await uploads.end(job._id)).to.deep.equal({ parts: 0, offset: 0 });
    expect(await read(job._id)).to.deep.include({ state: 'completed', purge_at: new Date(nowMs + 1_000) });
  });
});
