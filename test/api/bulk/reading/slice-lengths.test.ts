import { expect } from 'chai';
import { type ReadJobDeps, readJob } from '../../../../api/bulk/read-job.js';
import { dayMs } from '../../../../shared/contract/dates.js';
import { callIdGenerator, jobIdOf, newId } from '../../../../shared/contract/identifiers.js';
import { createLogger } from '../../../../shared/process/logger.js';
import { connectMongo, type Mongo } from '../../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../../shared/store/connection/prepare-database.js';
import { createJob } from '../../../../shared/store/jobs/create-job.js';
import type { Job } from '../../../../shared/store/jobs/job-documents.js';
import { SliceStore } from '../../../../shared/store/jobs/job-slices.js';
import { JobUploadStore } from '../../../../shared/store/jobs/job-uploads.js';
import { JobStore } from '../../../../shared/store/jobs/jobs.js';
import { defaultOptions, sampleJob } from '../../../support/jobs/sample-job.js';
import { freshDatabases } from '../../../support/service/servers.js';
import { knownFields } from './file-rig.js';

const nowMs = Date.UTC(2026, 5, 10);
const rows = 4_500;
const file = `crm_id,Size\n${Array.from({ length: rows }, (_, row) => `L-${row},${row}\n`).join('')}`;
const long = [2_000, 2_000, 500];
const short = [1_000, 1_000, 1_000, 1_000, 500];

interface Case {
  /** Records a month. */
  readonly limit: number;
  readonly explain?: true;
  readonly bucket?: 'test';
  /** Rows of a slice in a reading before, which stored the first slice and broke off. */
  readonly before?: number;
  readonly lengths: readonly number[];
}

const cases: Readonly<Record<string, Case>> = {
  'long with a limit of 100,000 records a month': { limit: 100_000, lengths: long },
  'short with a smaller limit': { limit: 99_999, lengths: short },
  'short in a job that explains': { limit: 1_000_000, explain: true, lengths: short },
  'short in a job of a test key, whose limit is 1000': { limit: 1_000_000, bucket: 'test', lengths: short },
  'short after a reading with short ones, also of an earlier release': {
    limit: 1_000_000,
    before: 1_000,
    lengths: short,
  },
  'long after a reading with long ones, although the limit is smaller now': {
    limit: 10_000,
    before: 2_000,
    lengths: long,
  },
};

describe('slices of a file are', () => {
  let mongo: Mongo;
  let jobs: JobStore;
  let slices: SliceStore;
  let uploads: JobUploadStore;

  before(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
    await prepareDatabase(mongo.database);
    jobs = new JobStore(mongo.database);
    slices = new SliceStore(mongo.database);
    uploads = new JobUploadStore(mongo.database);
  });
  after(() => mongo.client.close());

  const read = (job: Job, limit: number): Promise<void> =>
    readJob(job, {
      ...{ jobs, slices, uploads, retentionMs: dayMs, logger: createLogger('silent', 'test') },
      workspaces: {
        manifest: async () => ({ knownFields }),
        workspace: async () => ({ organisation: { plan: 'pro', limit } }),
      } as unknown as ReadJobDeps['workspaces'],
      metering: {} as ReadJobDeps['metering'],
      clock: { now: () => nowMs },
      stopping: new AbortController().signal,
      onRunning: () => undefined,
    });

  for (const [title, { limit, explain = false, bucket = 'live', before: earlier, lengths }] of Object.entries(cases))
    it(title, async () => {
      const org = newId('org');
      const _id = jobIdOf(callIdGenerator()(nowMs, org));
      const options = { ...defaultOptions, explain };
      const job = sampleJob({ _id, org, bucket, state: 'reading', options, created_at: new Date(nowMs) });
      await uploads.append(_id, { parts: 0, offset: 0 }, Buffer.from(file));
      await createJob(mongo.database, job, 1_000_000);
      if (earlier !== undefined) {
        const range = { from: file.indexOf('L-0'), to: file.indexOf(`L-${earlier},`), first_part: 0, last_part: 0 };
        const first = { number: 0, rows: earlier, first_row: 1, first_line: 2 };
        await slices.add(_id, [{ slice: { ...first, range } }]);
      }
      await read(job, limit);
      const stored = await slices.list(_id, { from: 0, limit: 100 });
      expect(stored.map((slice) => slice.rows)).to.eql(lengths);
      expect(stored.map((slice) => slice.first_row)).to.eql(
        lengths.map((_, at) => 1 + lengths.slice(0, at).reduce((sum, length) => sum + length, 0)),
      );
      expect((await jobs.findById(_id))?.file).to.include({ rows, slices: lengths.length });
    });
});
