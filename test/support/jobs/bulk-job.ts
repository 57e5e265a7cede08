import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { callIdGenerator, jobIdOf } from '../../../shared/contract/identifiers.js';
import { createJob } from '../../../shared/store/jobs/create-job.js';
import {
  type BlobKind,
  type Job,
  type JobSlice,
  jobLimits,
  sliceId,
} from '../../../shared/store/jobs/job-documents.js';
import type { JobOptions } from '../../../shared/store/jobs/job-options.js';
import { SliceStore } from '../../../shared/store/jobs/job-slices.js';
import { JobUploadStore } from '../../../shared/store/jobs/job-uploads.js';
import { JobStore } from '../../../shared/store/jobs/jobs.js';
import { eventually } from '../eventually.js';
import type { TestWorkspace } from '../service/workspace.js';
import { defaultOptions, sampleJob } from './sample-job.js';

const inflate = promisify(gunzip);
const newCallId = callIdGenerator();

/** A job whose file has arrived, in the stores of a running service. */
export class BulkJob {
  private readonly jobs: JobStore;
  private readonly slices: SliceStore;

  constructor(
    readonly owner: TestWorkspace,
    readonly id: string,
  ) {
    const { database } = owner.service.stores;
    this.jobs = new JobStore(database);
    this.slices = new SliceStore(database);
  }

  /**
   * Stores a job and its upload, as the gateway does.
   * @param bucket of the key that created it; live by default
   */
  static async create(
    owner: TestWorkspace,
    upload: string | Uint8Array,
    { bucket = 'live', ...options }: Partial<JobOptions> & { readonly bucket?: 'live' | 'test' } = {},
  ): Promise<BulkJob> {
    const { database } = owner.service.stores;
    const nowMs = owner.service.clock.now();
    const _id = jobIdOf(newCallId(nowMs, owner.id));
    const bytes = Buffer.from(upload);
    const uploads = new JobUploadStore(database);
    let end = { parts: 0, offset: 0 };
    for (let from = 0; from < bytes.length; from += jobLimits.uploadPartBytes)
      end = await uploads.append(_id, end, bytes.subarray(from, from + jobLimits.uploadPartBytes));
    const job = sampleJob({
      _id,
      org: owner.id,
      key: owner[bucket].key._id,
      bucket,
      model: owner.model._id,
      version: owner.model.version,
      options: { ...defaultOptions, ...options },
      state: 'reading',
      upload: { length: bytes.length, complete_at: new Date(nowMs) },
      created_at: new Date(nowMs),
      purge_at: new Date(nowMs + 400 * 24 * 60 * 60 * 1_000),
    });
    await createJob(database, job, Number.MAX_SAFE_INTEGER);
    return new BulkJob(owner, _id);
  }

  async read(): Promise<Job> {
    const job = await this.jobs.findById(this.id);
    if (job === undefined) throw new Error(`the job ${this.id} does not exist`);
    return job;
  }

  /** Waits until the job is in a state. @throws an assertion error with its last state */
  async until(state: Job['state'], timeoutMs = 60_000): Promise<Job> {
    let last: Job | undefined;
    await eventually(async () => {
      last = await this.read();
      if (last.state !== state) throw new Error(`the job is ${describe(last)}`);
    }, timeoutMs);
    return last ?? (await this.read());
  }

  /** Its slices so far, in order. */
  async allSlices(): Promise<JobSlice[]> {
    return await this.slices.list(this.id, { from: 0, limit: 10_000 });
  }

  /** The shown rows of all slices, without the header. */
  async text(kind: Exclude<BlobKind, 'input'> = 'results'): Promise<string> {
    const { settled } = await this.read();
    let text = '';
    for (let number = 0; number < settled.slices; number += 1) {
      const rows = await this.slices.read(sliceId(this.id, number), kind);
      text += rows === undefined ? '' : String(await inflate(rows));
    }
    return text;
  }

  /** The lines of the results, as cells. Only for cells without quotes. */
  async cells(): Promise<string[][]> {
    return (await this.text())
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split(','));
  }
}

const describe = ({ state, pause, failure, settled }: Job): string =>
  [state, pause?.reason, pause?.message, failure?.message, `${settled.slices} slices`].filter(Boolean).join(': ');
