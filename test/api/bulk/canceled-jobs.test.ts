import { expect } from 'chai';
import { readJob } from '../../../api/bulk/read-job.js';
import { cancelAbandoned } from '../../../api/bulk/resume-jobs.js';
import { createLogger } from '../../../shared/process/logger.js';
import type { Mongo } from '../../../shared/store/connection/connect.js';
import { createJob } from '../../../shared/store/jobs/create-job.js';
import { idsOfJob, type Job, jobLimits } from '../../../shared/store/jobs/job-documents.js';
import { type JobStores, removeJob } from '../../../shared/store/jobs/remove-job.js';
import { freshJobStores, jobStoresIn } from '../../support/jobs/job-stores.js';
import { sampleJob } from '../../support/jobs/sample-job.js';
import { knownFields } from './reading/file-rig.js';

const nowMs = Date.UTC(2026, 1, 10);
const clock = { now: () => nowMs };
const logger = createLogger('silent', 'test');
const retentionMs = 1_000;

describe('bulk jobs that are canceled early', () => {
  let mongo: Mongo;
  let stores: JobStores;
  let count = 0;

  before(async () => {
    ({ mongo } = await freshJobStores());
  });
  after(() => mongo.client.close());
  beforeEach(() => {
    stores = jobStoresIn(mongo);
  });

  async function add(members: Partial<Job>): Promise<Job> {
    count += 1;
    const job = sampleJob({ _id: `job_early_${String(count).padStart(20, '0')}`, org: 'org_early', ...members });
    await createJob(mongo.database, job, 1_000);
    return job;
  }

  const left = ({ _id }: Job, name: string): Promise<number> =>
    mongo.database.collection<{ _id: string }>(name).countDocuments({ _id: idsOfJob(_id) });

  /** Reads the file of a job. @param meanwhile happens after the first half of the file */
  async function read(job: Job, meanwhile: () => Promise<unknown>): Promise<void> {
    stores.uploads.read = async function* (_, onPart) {
      onPart?.({ number: 0, offset: 0, length: 9 });
      yield Buffer.from('Size\n1\n');
      await meanwhile();
      yield Buffer.from('2\n');
    };
    const workspaces = { manifest: async () => ({ knownFields }), workspace: async () => undefined } as never;
    const stopping = new AbortController().signal;
    const onRunning = () => undefined;
    const metering = { usage: () => Promise.reject(new Error('no workspace has a usage')) } as never;
    await readJob(job, { ...stores, workspaces, metering, clock, logger, retentionMs, stopping, onRunning });
  }

  it('leave no rows when they are canceled, and removed, while their file is read', async () => {
    const job = await add({ state: 'reading' });
    const canceling = { $set: { state: 'canceled', ended_at: new Date(nowMs) } } as const;
    await read(job, () => stores.jobs.change(job._id, ['reading'], canceling));
    expect((await stores.jobs.findById(job._id))?.state).to.equal('canceled');
    for (const name of ['job_slices', 'job_blobs']) expect(await left(job, name), name).to.equal(0);
    const removed = await add({ state: 'reading' });
    await read(removed, () => removeJob(stores, removed._id));
    for (const name of ['job_slices', 'job_blobs']) expect(await left(removed, name), name).to.equal(0);
  });

  it('keep the rows that another runner has read', async () => {
    const job = await add({ state: 'reading' });
    const shape = { format: 'csv', columns: ['Size'], delimiter: ',', crm_id_field: undefined } as const;
    const file = { shape, rows: 2, slices: 1, header_line: 'Size\n' };
    await read(job, () => stores.jobs.change(job._id, ['reading'], { $set: { state: 'canceled', file } }));
    expect(await left(job, 'job_slices')).to.equal(1);
  });

  it('lose the bytes that arrived when their file does not arrive within a day', async () => {
    const [late, early] = [nowMs - jobLimits.awaitUploadMs - 1, nowMs - jobLimits.awaitUploadMs + 1_000];
    const jobs = [late, early].map((at) => add({ state: 'awaiting_upload', created_at: new Date(at) }));
    const [abandoned, awaited] = (await Promise.all(jobs)) as [Job, Job];
    for (const { _id } of [abandoned, awaited])
      await stores.uploads.append(_id, { parts: 0, offset: 0 }, Buffer.from('Size'));
    await cancelAbandoned({ ...stores, clock, logger, retentionMs, stopping: new AbortController().signal });
    expect((await stores.jobs.findById(abandoned._id))?.state).to.equal('canceled');
    expect((await stores.jobs.findById(awaited._id))?.state).to.equal('awaiting_upload');
    expect([await left(abandoned, 'job_uploads'), await left(awaited, 'job_uploads')]).to.deep.equal([0, 1]);
  });
});
