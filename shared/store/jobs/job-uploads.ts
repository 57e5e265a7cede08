import { setTimeout as pause } from 'node:timers/promises';
import { Binary, type Collection, type Db, MongoServerError } from 'mongodb';
import { createClustered, duplicateKey, type WriteOptions } from '../connection/connect.js';
import { idsOfJob, partId, type UploadPart } from './job-documents.js';

const majority = { writeConcern: { w: 'majority' } } as const;

/** Another upload of the same job has written at this offset. */
export class UploadConflict extends Error {
  override name = 'UploadConflict';
}

/** The position after the last byte of an upload. */
export interface UploadEnd {
  /** Number of the next part. */
  readonly parts: number;
  readonly offset: number;
}

/** Numbers that one upload may use. */
const numbersPerUpload = 10_000_000;

/** The beginning of an upload that replaces another one. */
export const beginningAfter = ({ parts, offset }: UploadEnd): UploadEnd =>
  offset === 0
    ? { parts, offset }
    : { parts: (Math.floor(parts / numbersPerUpload) + 1) * numbersPerUpload, offset: 0 };

/** Number of the first part of the upload that ends here. Parts before it belong to an upload that was replaced. */
export const firstPartOf = ({ parts }: UploadEnd): number => Math.floor(parts / numbersPerUpload) * numbersPerUpload;

/**
 * Bytes of uploads, as sent. A part is written whole, so an upload that breaks off keeps all parts before the break.
 */
export class JobUploadStore {
  private readonly collection: Collection<UploadPart>;

  constructor(private readonly database: Db) {
    this.collection = database.collection<UploadPart>('job_uploads');
  }

  async prepare(): Promise<void> {
    await createClustered(this.database, 'job_uploads');
  }

  /** The end of an upload: how much of it is stored. */
  async end(jobId: string): Promise<UploadEnd> {
    const [last] = await this.collection
      .find({ _id: idsOfJob(jobId) })
      .project<Omit<UploadPart, 'data'>>({ offset: 1, length: 1 })
      .sort({ _id: -1 })
      .limit(1)
      .toArray();
    if (last === undefined) return { parts: 0, offset: 0 };
    return { parts: Number(last._id.slice(jobId.length + 1)) + 1, offset: last.offset + last.length };
  }

  /**
   * Appends bytes.
   * @returns the end after them
   * @throws UploadConflict if another upload has written there
   */
  async append(
    jobId: string,
    { parts, offset }: UploadEnd,
    bytes: Uint8Array,
    options?: WriteOptions,
  ): Promise<UploadEnd> {
    const part = { _id: partId(jobId, parts), offset, length: bytes.length, data: new Binary(bytes) };
    try {
      await this.collection.insertOne(part, options ?? majority);
    } catch (error) {
      if (error instanceof MongoServerError && error.code === duplicateKey)
        throw new UploadConflict('another upload of the same file is in progress');
      throw error;
    }
    return { parts: parts + 1, offset: offset + bytes.length };
  }

  /** All bytes in order. */
  async *read(jobId: string): AsyncGenerator<Buffer> {
    const parts = this.collection
      .find({ _id: idsOfJob(jobId) })
      .sort({ _id: 1 })
      .batchSize(4);
    for await (const { data } of parts) yield Buffer.from(data.buffer.buffer, data.buffer.byteOffset, data.length());
  }

  /** Removes the parts of an upload that another one has replaced. @param parts number of the first part that stays */
  async removeBefore(jobId: string, parts: number): Promise<void> {
    await this.collection.deleteMany({ _id: { $gte: idsOfJob(jobId).$gte, $lt: partId(jobId, parts) } });
  }

  /** Removes the upload of a job at once: a caller waits for it. */
  async remove(jobId: string): Promise<void> {
    await this.collection.deleteMany({ _id: idsOfJob(jobId) });
  }

  /**
   * Removes the upload of a job in steps, with pauses of three times their length. Removing 1.5 GB at once keeps the
   * disk of MongoDB busy for seconds, in which calls take four times as long.
   * @param stopping leaves the rest when it is aborted: it goes with the job
   */
  async removeInSteps(jobId: string, stopping?: AbortSignal): Promise<void> {
    // Not from the first id each time: MongoDB would pass over all that it has just removed.
    for (let ids = idsOfJob(jobId); ; ) {
      const beganMs = performance.now();
      const parts = await this.collection
        .find({ _id: ids })
        .project<{ _id: string }>({ _id: 1 })
        .sort({ _id: 1 })
        .limit(partsPerStep)
        .toArray();
      const last = parts.at(-1)?._id;
      if (last === undefined) return;
      await this.collection.deleteMany({ _id: { $gte: ids.$gte, $lte: last } });
      if (parts.length < partsPerStep) return;
      ids = { ...ids, $gte: last };
      const pauseMs = pausesPerStep * (performance.now() - beganMs);
      await pause(pauseMs, undefined, { signal: stopping }).catch(() => undefined);
      if (stopping?.aborted) return;
    }
  }
}

/** Parts of a mebibyte that are removed at once. */
const partsPerStep = 16;
/** Duration of a pause, in durations of the step before it. */
const pausesPerStep = 3;
