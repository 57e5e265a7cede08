import { setTimeout as pause } from 'node:timers/promises';
import { Binary, type Collection, type Db, MongoServerError } from 'mongodb';
import { createClustered, duplicateKey, type WriteOptions } from '../connection/connect.js';
import { idsOfJob, partId, type UploadPart, type UploadRange } from './job-documents.js';

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
    return { parts: numberOfPart(last._id) + 1, offset: last.offset + last.length };
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

  /** All bytes in order. @param onPart learns of each part before its bytes */
  async *read(jobId: string, onPart: (part: PartPlace) => void = () => undefined): AsyncGenerator<Buffer> {
    const parts = this.collection
      .find({ _id: idsOfJob(jobId) })
      .sort({ _id: 1 })
      .batchSize(4);
    for await (const { _id, offset, length, data } of parts) {
      onPart({ number: numberOfPart(_id), offset, length });
      yield bytesOf(data);
    }
  }

  /** Some parts of an upload, in order. @param numbers of the first and the last one; those that are removed lack */
  async parts(
    jobId: string,
    { first, last }: { readonly first: number; readonly last: number },
  ): Promise<{ readonly offset: number; readonly bytes: Buffer }[]> {
    const ids = { $gte: partId(jobId, first), $lte: partId(jobId, last) };
    const found = await this.collection.find({ _id: ids }).sort({ _id: 1 }).toArray();
    return found.map(({ offset, data }) => ({ offset, bytes: bytesOf(data) }));
  }

  /**
   * Removes what nothing reads any more: the bytes from a range to the end of another one. Their last part is cut,
   * because its other rows are still to be scored.
   * @param from the range after the end of the removal before
   */
  async removeRanges(jobId: string, from: UploadRange, to: UploadRange): Promise<void> {
    const last = partId(jobId, to.last_part);
    // Not from the first id each time: MongoDB would pass over all that it has just removed.
    await this.collection.deleteMany({ _id: { $gte: partId(jobId, from.first_part), $lt: last } });
    const part = await this.collection.findOne({ _id: last });
    if (part === null || part.offset >= to.to) return;
    const length = part.offset + part.length - to.to;
    if (length <= 0) {
      await this.collection.deleteOne({ _id: last });
      return;
    }
    const data = new Binary(bytesOf(part.data).subarray(-length));
    // Another runner may have cut more of it.
    await this.collection.updateOne({ _id: last, offset: part.offset }, { $set: { offset: to.to, length, data } });
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

/** Where a part is in an upload: its number, its first byte and its length. */
export interface PartPlace {
  readonly number: number;
  readonly offset: number;
  readonly length: number;
}

const numberOfPart = (id: string): number => Number(id.slice(id.lastIndexOf('.') + 1));

const bytesOf = (data: Binary): Buffer => Buffer.from(data.buffer.buffer, data.buffer.byteOffset, data.length());

/** Parts of a mebibyte that are removed at once. */
const partsPerStep = 16;
/** Duration of a pause, in durations of the step before it. */
const pausesPerStep = 3;
