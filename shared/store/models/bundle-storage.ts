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
import { withMongoTimeout } from '../connection/connect.js';

const bucketName = 'bundles';
const chunkBytes = 1024 * 1024;

/** A file to store. The caller chooses its id, so that it can remove a failed upload. */
export interface FileToStore {
  readonly id: ObjectId;
  readonly filename: string;
  readonly bytes: Buffer;
}

/** The files of bundles, in the GridFS bucket `bundles`. */
export class BundleStorage {
  private readonly bucket: GridFSBucket;
  private readonly timeoutMs: number;

  /** @param options.timeoutMs limit of one file or one call */
  constructor(
    private readonly database: Db,
    { timeoutMs }: { timeoutMs: number },
  ) {
    this.timeoutMs = timeoutMs;
    this.bucket = new GridFSBucket(database, {
      bucketName,
      chunkSizeBytes: chunkBytes,
      writeConcern: { w: 'majority' },
    });
  }

  /**
   * Stores a file one chunk after the other, so that no write is in flight after a failure.
   * @throws the driver's error, or MongoTimeout after the timeout
   */
  async upload({ id, filename, bytes }: FileToStore): Promise<void> {
    const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, index) =>
      bytes.subarray(index * chunkBytes, (index + 1) * chunkBytes),
    );
    const upload = this.bucket.openUploadStreamWithId(id, filename);
    await withMongoTimeout(this.timeoutMs, (signal) => pipeline(Readable.from(chunks), upload, { signal }));
  }

  /** @throws the driver's error, also if the file does not exist, or MongoTimeout after the timeout */
  download(id: ObjectId): Promise<Buffer> {
    return withMongoTimeout(this.timeoutMs, async (signal) => {
      const chunks: Uint8Array[] = [];
      const download = addAbortSignal(signal, this.bucket.openDownloadStream(id));
      for await (const chunk of download) chunks.push(chunk);
      return Buffer.concat(chunks);
    });
  }

  /**
   * Removes files and the chunks of failed uploads; ignores unknown ids.
   * @throws the driver's error, or MongoTimeout after the timeout
   */
  async remove(ids: readonly ObjectId[]): Promise<void> {
    const files = this.database.collection<GridFSFile>(`${bucketName}.files`);
    const chunks = this.database.collection(`${bucketName}.chunks`);
    await withMongoTimeout(this.timeoutMs, async (signal) => {
      const options: DeleteOptions & Abortable = { signal };
      await files.deleteMany({ _id: { $in: [...ids] } }, options);
      await chunks.deleteMany({ files_id: { $in: [...ids] } }, options);
    });
  }

  /** The file ids created before an id, including those of uploads that stored only chunks. */
  idsBefore(limit: ObjectId): Promise<ObjectId[]> {
    return withMongoTimeout(this.timeoutMs, async (signal) => {
      const options: FindOptions & Abortable = { signal, projection: { _id: 1 } };
      const complete = await this.bucket.find({ _id: { $lt: limit } }, options).toArray();
      const chunks = this.database.collection<{ files_id: ObjectId }>(`${bucketName}.chunks`);
      const how: DistinctOptions & Abortable = { signal };
      const begun = await chunks.distinct('files_id', { files_id: { $lt: limit } }, how);
      return [...complete.map(({ _id }) => _id), ...begun];
    });
  }
}
