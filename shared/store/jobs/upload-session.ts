import { randomUUID } from 'node:crypto';
import type { Collection, Db } from 'mongodb';
import { inTransaction } from '../connection/transaction.js';
import type { Job } from './job-documents.js';
import { beginningAfter, firstPartOf, type JobUploadStore, UploadConflict, type UploadEnd } from './job-uploads.js';
import type { JobStore } from './jobs.js';

const appendTimeoutMs = 20_000;

export interface UploadStores {
  readonly database: Db;
  readonly jobs: JobStore;
  readonly uploads: JobUploadStore;
}

/**
 * One call that uploads bytes of a job. It adds bytes while the job awaits them and no later call has begun: each part
 * is stored in one transaction with the job. So neither two calls at once nor a cancellation can mix or leave bytes.
 */
export class UploadSession {
  private readonly jobs: Collection<Job>;
  /** Whether parts of a replaced upload may still be stored. */
  private mayHaveReplaced = true;

  private constructor(
    private readonly stores: UploadStores,
    private readonly jobId: string,
    private readonly writer: string,
    private end: UploadEnd,
  ) {
    this.jobs = stores.database.collection<Job>('jobs');
  }

  /**
   * Begins an upload from byte 0. Bytes of an earlier one stay until the first part of this one is stored.
   * @param length bytes of the file, if they are known
   * @throws UploadConflict if the job awaits no upload
   */
  static async fromStart(stores: UploadStores, jobId: string, length: number | undefined): Promise<UploadSession> {
    const writer = await claim(stores, jobId, length ?? 'forget');
    return new UploadSession(stores, jobId, writer, beginningAfter(await stores.uploads.end(jobId)));
  }

  /**
   * Goes on with an upload after its last byte.
   * @param length bytes of the file, if the call says so
   * @throws UploadConflict if the job awaits no upload
   */
  static async fromEnd(stores: UploadStores, jobId: string, length: number | undefined): Promise<UploadSession> {
    const writer = await claim(stores, jobId, length);
    return new UploadSession(stores, jobId, writer, await stores.uploads.end(jobId));
  }

  /** Bytes that are stored. */
  get offset(): number {
    return this.end.offset;
  }

  /**
   * Stores bytes at the end.
   * @throws UploadConflict if the job no longer awaits them, or a later call has begun. Nothing is stored then
   */
  async append(bytes: Uint8Array): Promise<void> {
    const { end, jobId, writer } = this;
    const next = { parts: end.parts + 1, offset: end.offset + bytes.length };
    await inTransaction(
      this.stores.database.client,
      async (options) => {
        const { matchedCount } = await this.jobs.updateOne(
          { _id: jobId, state: 'awaiting_upload', 'upload.writer': writer },
          { $set: { 'upload.bytes': next.offset } },
          options,
        );
        if (matchedCount === 0)
          throw new UploadConflict('another call uploads this file, or the job has another state');
        await this.stores.uploads.append(jobId, end, bytes, options);
      },
      { timeoutMs: appendTimeoutMs },
    );
    this.end = next;
    await this.removeReplaced();
  }

  /**
   * Hands the complete file to the reader.
   * @throws UploadConflict as `append`
   */
  async complete(now: Date): Promise<Job> {
    await this.removeReplaced();
    const job = await this.stores.jobs.change(
      this.jobId,
      ['awaiting_upload'],
      { $set: { state: 'reading', 'upload.length': this.offset, 'upload.complete_at': now } },
      { 'upload.writer': this.writer },
    );
    if (job === undefined) throw new UploadConflict('another call uploads this file, or the job has another state');
    return job;
  }

  private async removeReplaced(): Promise<void> {
    if (!this.mayHaveReplaced) return;
    await this.stores.uploads.removeBefore(this.jobId, firstPartOf(this.end));
    this.mayHaveReplaced = false;
  }
}

/**
 * Makes a call the writer of an upload.
 * @param length `forget` if a length that an earlier call named no longer holds
 */
async function claim({ jobs }: UploadStores, jobId: string, length: number | 'forget' | undefined): Promise<string> {
  const writer = randomUUID();
  const known = typeof length === 'number' ? { 'upload.length': length } : {};
  const job = await jobs.change(jobId, ['awaiting_upload'], {
    $set: { 'upload.writer': writer, ...known },
    ...(length === 'forget' ? { $unset: { 'upload.length': 1 } } : {}),
  });
  if (job === undefined) throw new UploadConflict('the job awaits no upload');
  return writer;
}
