import { addAbortSignal, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Db, GridFSBucket, type GridFSFile, type ObjectId } from 'mongodb';

const BUCKET = 'bundles';
const CHUNK_BYTES = 1024 * 1024;

/** One file to be stored, under an id chosen beforehand so that a failed upload can be removed. */
export interface FileToStore {
  readonly id: ObjectId;
  readonly filename: string;
  readonly bytes: Buffer;
}

/**
 * The files of bundles, in GridFS. The driver's own timeouts do not reach GridFS streams, hence the signals.
 */
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
   * @throws what the driver throws, or an AbortError after the timeout
   */
  async upload({ id, filename, bytes }: FileToStore): Promise<void> {
    const chunks = Array.from({ length: Math.ceil(bytes.length / CHUNK_BYTES) }, (_, index) =>
      bytes.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES),
    );
    const upload = this.#bucket.openUploadStreamWithId(id, filename);
    await pipeline(Readable.from(chunks), upload, { signal: AbortSignal.timeout(this.#timeoutMs) });
  }

  /**
   * @param id of the file
   * @returns its bytes
   * @throws what the driver throws, also when there is no such file, or an AbortError after the timeout
   */
  async download(id: ObjectId): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    const signal = AbortSignal.timeout(this.#timeoutMs);
    for await (const chunk of addAbortSignal(signal, this.#bucket.openDownloadStream(id))) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /** Removes files and whatever chunks an upload that failed has left of them; unknown ids are fine. */
  async remove(ids: readonly ObjectId[]): Promise<void> {
    const timeoutMS = this.#timeoutMs;
    const files = this.#database.collection<GridFSFile>(`${BUCKET}.files`);
    const chunks = this.#database.collection(`${BUCKET}.chunks`);
    await files.deleteMany({ _id: { $in: [...ids] } }, { timeoutMS });
    await chunks.deleteMany({ files_id: { $in: [...ids] } }, { timeoutMS });
  }

  /**
   * @param prefix the beginning of file names, ending in a colon
   * @returns the ids of the files whose names begin so
   */
  async idsWithPrefix(prefix: `${string}:`): Promise<ObjectId[]> {
    // A range instead of a pattern: it uses GridFS's own index, and nothing in the name needs escaping.
    const next = `${prefix.slice(0, -1)};`;
    const found = this.#bucket.find(
      { filename: { $gte: prefix, $lt: next } },
      { timeoutMS: this.#timeoutMs },
    );
    return (await found.project<{ _id: ObjectId }>({ _id: 1 }).toArray()).map(({ _id }) => _id);
  }
}
