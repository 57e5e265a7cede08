import { expect } from 'chai';
import { RowReader } from '../../../../api/bulk/rows/row-reader.js';
import { JobTurns } from '../../../../api/bulk/turns/job-turn.js';
import type { Mongo } from '../../../../shared/store/connection/connect.js';
import { createJob } from '../../../../shared/store/jobs/create-job.js';
import type { JobSlice } from '../../../../shared/store/jobs/job-documents.js';
import type { SliceStore } from '../../../../shared/store/jobs/job-slices.js';
import type { JobUploadStore } from '../../../../shared/store/jobs/job-uploads.js';
import type { JobStore } from '../../../../shared/store/jobs/jobs.js';
import { removeJob } from '../../../../shared/store/jobs/remove-job.js';
import { freshJobStores } from '../../../support/jobs/job-stores.js';
import { sampleJob } from '../../../support/jobs/sample-job.js';
import { knownFields } from '../reading/file-rig.js';

const clock = { now: () => Date.UTC(2026, 1, 10) };

describe('a turn of a bulk job whose slice cannot be read', () => {
  let mongo: Mongo;
  let jobs: JobStore;
  let slices: SliceStore;
  let uploads: JobUploadStore;
  let count = 0;
  /** The failures that it counts, and its warnings. */
  let reported: string[];

  before(async () => {
    ({ mongo, jobs, slices, uploads } = await freshJobStores());
  });
  after(() => mongo.client.close());
  beforeEach(() => {
    reported = [];
  });

  /** Takes a turn of a job of one slice. @param meanwhile happens when its rows are about to be read */
  async function turn(meanwhile: (jobId: string) => Promise<unknown>): Promise<boolean> {
    count += 1;
    const _id = `job_turn_${String(count).padStart(20, '0')}`;
    const shape = { format: 'csv', columns: ['Size'], delimiter: ',', crm_id_field: undefined } as const;
    const file = { shape, rows: 1, slices: 1, header_line: 'Size\n' };
    await createJob(mongo.database, sampleJob({ _id, org: 'org_turn', state: 'running', file }), 1_000);
    const slice = { number: 0, rows: 1, first_row: 1, first_line: 2 };
    await slices.add(_id, [{ slice, input: Buffer.from('1\n') }]);
    const reader = new RowReader(slices, uploads);
    const rowReader = {
      rowsOf: async (each: JobSlice) => {
        await meanwhile(_id);
        return await reader.rowsOf(each);
      },
    };
    const turns = new JobTurns({
      ...{ jobs, slices, uploads, clock, rowReader, leaseMs: 30_000, retentionMs: 1_000, requestTimeoutMs: 5_000 },
      queues: { workersOf: () => 1, waitingHeads: async () => ({ ids: [], heldMs: 0 }) },
      workspaces: { manifest: async () => ({ knownFields }) },
      redisNowMs: async () => clock.now(),
      counts: { finished: () => undefined, failed: () => void reported.push('failed') },
      logger: { warn: (_: unknown, message: string) => void reported.push(message) },
      stopping: new AbortController().signal,
    } as never);
    return await turns.take(_id);
  }

  it('counts a failure and says that it tries again', async () => {
    expect(await turn((id) => slices.removeAllInputs(id))).to.equal(false);
    expect(reported).to.deep.equal(['failed', 'a slice failed and is tried again']);
  });

  it('counts and says nothing when the job was canceled meanwhile, which removes its rows', async () => {
    const canceled = await turn(async (id) => {
      await jobs.change(id, ['running'], { $set: { state: 'canceled' } });
      await slices.removeAllInputs(id);
    });
    expect(canceled).to.equal(false);
    expect(reported).to.deep.equal([]);
  });

  it('counts and says nothing when the job was removed meanwhile', async () => {
    expect(await turn((id) => removeJob({ jobs, slices, uploads }, id))).to.equal(false);
    expect(reported).to.deep.equal([]);
  });
});
