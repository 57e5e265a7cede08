import { addAbortSignal, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  type Abortable,
  type Db,
  type DeleteOptions,
  type DistinctOptions,
  type FindOptions,
  GridFSBucket,
  type GridFSFile,
  type ObjectId,
} from 'mongodb';
import { inTime } from './in-time.js';

const BUCKET = 'bundles';
const CHUNK_BYTES = 1024 * 1024;

/** One file to be stored, under an id chosen beforehand so that a failed upload can be removed. */
export interface FileToStore {
  readonly id: ObjectId;
  readonly filename: string;
  readonly bytes: Buffer;
}

/** The files of bundles, in GridFS. */
export class BundleStorage {
  readonly #bucket: GridFSBucket;
  readonly #database: Db;
  readonly #timeoutMs: number;

  /**
   * @param database where the bucket `bundles` lies
   * @param options `timeoutMs`: for one file or one call
   */
  constructor(database: Db, { timeoutMs }: { timeoutMs: number }) {
    this.#database = database;
    this.#timeoutMs = timeoutMs;
    this.#bucket = new GridFSBucket(database, {
      bucketName: BUCKET,
      chunkSizeBytes: CHUNK_BYTES,
      writeConcern: { w: 'majority' },
    });
  }

  /**
   * Stores a file. Chunk after chunk, so that nothing is still being written after a failure.
   * @throws what the driver throws, or MongoSilent after the timeout
   */
  async upload({ id, filename, bytes }: FileToStore): Promise<void> {
    const chunks = Array.from({ length: Math.ceil(bytes.length / CHUNK_BYTES) }, (_, index) =>
      bytes.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES),
    );
    const upload = this.#bucket.openUploadStreamWithId(id, filename);
    await inTime(this.#timeoutMs, (signal) => pipeline(Readable.from(chunks), upload, { signal }));
  }

  /**
   * @param id of the file
   * @returns its bytes
   * @throws what the driver throws, also when there is no such file, or MongoSilent after the timeout
   */
  download(id: ObjectId): Promise<Buffer> {
    return inTime(this.#timeoutMs, async (signal) => {
      const chunks: Uint8Array[] = [];
      const download = addAbortSignal(signal, this.#bucket.openDownloadStream(id));
      for await (const chunk of download) chunks.push(chunk);
      return Buffer.concat(chunks);
    });
  }

  /**
   * Removes files and whatever chunks an upload that failed has left of them; unknown ids are fine.
   * @throws what the driver throws, or MongoSilent after the timeout
   */
  async remove(ids: readonly ObjectId[]): Promise<void> {
    const files = this.#database.collection<GridFSFile>(`${BUCKET}.files`);
    const chunks = this.#database.collection(`${BUCKET}.chunks`);
    await inTime(this.#timeoutMs, async (signal) => {
      const options: DeleteOptions & Abortable = { signal };
      await files.deleteMany({ _id: { $in: [...ids] } }, options);
      await chunks.deleteMany({ files_id: { $in: [...ids] } }, options);
    });
  }

  /**
   * @param limit an id
   * @returns the ids that were made before it, of files and of files that never got past their chunks
   */
  idsBefore(limit: ObjectId): Promise<ObjectId[]> {
    return inTime(this.#timeoutMs, async (signal) => {
      const options: FindOptions & Abortable = { signal, projection: { _id: 1 } };
      const complete = await this.#bucket.find({ _id: { $lt: limit } }, options).toArray();
      const chunks = this.#database.collection<{ files_id: ObjectId }>(`${BUCKET}.chunks`);
      const how: DistinctOptions & Abortable = { signal };
      const begun = await chunks.distinct('files_id', { files_id: { $lt: limit } }, how);
      return [...complete.map(({ _id }) => _id), ...begun];
    });
  }

  /**
   * @param prefix the beginning of file names, ending in a colon
   * @returns the ids of the files whose names begin so
   */
  async idsWithPrefix(prefix: `${string}:`): Promise<ObjectId[]> {
    // A range instead of a pattern: it uses GridFS's own index, and nothing in the name needs escaping.
    const filter = { filename: { $gte: prefix, $lt: `${prefix.slice(0, -1)};` } };
    const found = await inTime(this.#timeoutMs, (signal) => {
      const options: FindOptions & Abortable = { signal, projection: { _id: 1 } };
      return this.#bucket.find(filter, options).toArray();
    });
    return found.map(({ _id }) => _id);
  }
}
