import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { expect } from 'chai';
import { type ReadStoredDeps, readStored } from '../../../../api/bulk/reading/read-stored.js';
import { dayMs } from '../../../../shared/contract/dates.js';
import { callIdGenerator, jobIdOf, newId } from '../../../../shared/contract/identifiers.js';
import { compileKnownFields } from '../../../../shared/messages/field-slots.js';
import { createLogger } from '../../../../shared/process/logger.js';
import { type CallDocument, callDocuments } from '../../../../shared/store/calls/call-documents.js';
import { eraseLead, erasingStores } from '../../../../shared/store/calls/erasures.js';
import { callsCollection, segmentsOf } from '../../../../shared/store/calls/prediction-segment.js';
import { connectMongo, type Mongo } from '../../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../../shared/store/connection/prepare-database.js';
import { createJob } from '../../../../shared/store/jobs/create-job.js';
import { type Job, sliceId } from '../../../../shared/store/jobs/job-documents.js';
import type { StoredLeads } from '../../../../shared/store/jobs/job-options.js';
import { SliceStore } from '../../../../shared/store/jobs/job-slices.js';
import { JobStore } from '../../../../shared/store/jobs/jobs.js';
import { defaultOptions, sampleJob } from '../../../support/jobs/sample-job.js';
import { freshDatabases } from '../../../support/service/servers.js';

const nowMs = Date.UTC(2026, 5, 10);
const all: StoredLeads = { sent_within_days: 365, max_rows: 2_000_000 };
const inflate = promisify(gunzip);

describe('reading stored leads', () => {
  const newCallId = callIdGenerator();
  let mongo: Mongo;
  let jobs: JobStore;
  let slices: SliceStore;
  let org: string;

  before(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
    await prepareDatabase(mongo.database);
    [jobs, slices] = [new JobStore(mongo.database), new SliceStore(mongo.database)];
  });
  after(() => mongo.client.close());
  beforeEach(() => {
    org = newId('org');
  });

  /** Records a call under `mdl_1`, so many days before now. */
  async function call(
    daysBefore: number,
    leads: readonly (string | null)[],
    of: { readonly model?: string; readonly source?: 'stored' } = {},
  ): Promise<string> {
    const { model = 'mdl_1', source } = of;
    const at = new Date(nowMs - daysBefore * dayMs);
    const callId = callIdGenerator()(at.getTime(), org);
    const column = <Value>(value: Value) => leads.map(() => value);
    const segments = segmentsOf({
      ...{ callId, org, model, version: '1', at, source },
      ...{ crmIds: leads, scores: column(50), likelihoods: column(1), fields: column('[]') },
    });
    const row = { _id: callId, request_id: callId, org, key: 'key', bucket: 'live', month: '2026-06' } as const;
    const records = leads.length;
    await mongo.database
      .collection<CallDocument>(callsCollection)
      .insertMany(callDocuments({ ...row, records, model, version: '1', at, ...(source && { source }) }, segments));
    return callId;
  }

  async function newJob(stored: StoredLeads): Promise<Job> {
    const job = sampleJob({
      ...{ _id: jobIdOf(newCallId(nowMs, org)), org, state: 'reading', created_at: new Date(nowMs) },
      options: { ...defaultOptions, include_input: false, stored },
    });
    await createJob(mongo.database, job, 1_000);
    return job;
  }

  const knownFields = compileKnownFields({ features: [] });
  /** @param changed replaces parts of the deps */
  const read = (job: Job, changed: Partial<Pick<ReadStoredDeps, 'jobs'>> = {}): Promise<void> =>
    readStored(job, job.options.stored ?? all, {
      ...{ database: mongo.database, jobs, slices, retentionMs: dayMs, logger: createLogger('silent', 'test') },
      workspaces: {
        manifest: async () =>
          ({ knownFields }) as unknown as Awaited<ReturnType<ReadStoredDeps['workspaces']['manifest']>>,
        workspace: async () => undefined,
      },
      metering: {} as ReadStoredDeps['metering'],
      clock: { now: () => nowMs },
      stopping: new AbortController().signal,
      onRunning: () => undefined,
      ...changed,
    });

  /** The prediction ids of each slice of a job. */
  async function idsOf({ _id }: Job): Promise<string[][]> {
    const found = await slices.list(_id, { from: 0, limit: 10_000 });
    return await Promise.all(
      found.map(async ({ _id: id }) => String(await inflate((await slices.read(id, 'input')) ?? '')).split('\n')),
    );
  }

  it('finds the newest prediction of each lead under the model, newest first, within the days', async () => {
    await call(20, ['old']);
    const first = await call(9, ['A', 'B', null, 'C']);
    await call(8, ['A', 'D'], { model: 'mdl_2' });
    await call(7, ['B', 'C'], { source: 'stored' });
    const many = Array.from({ length: 250 }, (_, row) => `M-${row}`);
    const second = await call(6, many);
    const third = await call(5, ['A', 'E', 'A']);
    await call(-1, ['later']);
    const job = await newJob({ sent_within_days: 10, max_rows: 2_000_000 });
    await read(job);
    const ofMany = many.map((_, row) => `${second}.${String(row).padStart(4, '0')}`).reverse();
    expect(await idsOf(job)).to.deep.equal([
      [`${third}.0002`, `${third}.0001`, ...ofMany, `${first}.0003`, `${first}.0001`],
    ]);
    expect(await jobs.findById(job._id))
      .to.deep.include({ state: 'running' })
      .and.not.have.property('reader');

    const few = await newJob({ sent_within_days: 10, max_rows: 3 });
    await read(few);
    expect(await idsOf(few)).to.deep.equal([[`${third}.0002`, `${third}.0001`, ofMany[0]]]);
  });

  it('cuts slices of a thousand rows, and has each lead in one of them after a reading that was cut off', async () => {
    const leads = Array.from({ length: 10_500 }, (_, row) => `L-${row}`);
    for (let from = 0; from < leads.length; from += 500) await call(30 - from / 500, leads.slice(from, from + 500));
    const job = await newJob(all);
    let died = false;
    const cut = new (class extends JobStore {
      override async noteRead(...given: Parameters<JobStore['noteRead']>): Promise<boolean> {
        if (given[1].rows > 8_000) {
          died = true;
          throw new Error('the runner dies');
        }
        return await super.noteRead(...given);
      }
    })(mongo.database);
    await read(job, { jobs: cut }).then(
      () => expect.fail('the reading did not end'),
      (error: Error) => expect(error.message).to.equal('the runner dies'),
    );
    expect([died, (await idsOf(job)).length]).to.deep.equal([true, 8]);
    await eraseLead(erasingStores(mongo.database), { organisationId: org, crmId: 'L-10300' });
    await read(job);
    const ids = await idsOf(job);
    expect(ids.map(({ length }) => length)).to.deep.equal([...Array.from({ length: 10 }, () => 1_000), 499]);
    expect(new Set(ids.flat()).size).to.equal(10_499);
    expect((await slices.find(sliceId(job._id, 10)))?.first_row).to.equal(10_001);
  });

  it('adds nothing to a job that another reading has begun, or that was canceled', async () => {
    await call(
      3,
      Array.from({ length: 1_001 }, (_, row) => `A-${row}`),
    );
    for (const meanwhile of ['another reading', 'a cancellation'] as const) {
      const job = await newJob(all);
      const late = new (class extends JobStore {
        override async noteRead(...given: Parameters<JobStore['noteRead']>): Promise<boolean> {
          if (meanwhile === 'a cancellation') await jobs.change(job._id, ['reading'], { $set: { state: 'canceled' } });
          else {
            await eraseLead(erasingStores(mongo.database), { organisationId: org, crmId: 'A-5' });
            await read(job);
          }
          return await super.noteRead(...given);
        }
      })(mongo.database);
      await read(job, { jobs: late });
      const ids = await idsOf(job);
      expect(ids.map(({ length }) => length)).to.deep.equal(meanwhile === 'a cancellation' ? [] : [1_000]);
      const state = meanwhile === 'a cancellation' ? 'canceled' : 'running';
      expect((await jobs.findById(job._id))?.state).to.equal(state);
    }
  });
});
