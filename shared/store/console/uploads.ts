import { type ClientSession, type Collection, type Db, ObjectId } from 'mongodb';
import type { UploadState } from '../../contract/upload-states.js';
import type { CheckedManifest, MeanContribution } from '../../messages/bundle-check-job.js';
import type { ExplainMethod } from '../../messages/score-job.js';
import { withMongoTimeout } from '../connection/connect.js';
import { bundleStorage } from '../models/model-versions.js';

/** One document of `console_uploads`: an uploaded bundle, and how far its check came. */
export interface Upload {
  readonly _id: ObjectId;
  readonly org: string;
  readonly state: UploadState;
  readonly bytes: number;
  readonly created_at: Date;
  /** The archive, in the GridFS bucket `bundles`. An import removes archives older than an hour. */
  readonly file: ObjectId;
  readonly manifest?: CheckedManifest;
  readonly golden?: { readonly records: number; readonly matching: number };
  readonly explain_method?: ExplainMethod;
  readonly contributions?: readonly MeanContribution[];
  readonly problem?: string;
  readonly notes?: readonly string[];
  readonly model_id?: string;
}

const timeoutMs = 10_000;
const rememberedSeconds = 24 * 60 * 60;

/** Uploaded bundles. */
export class UploadStore {
  private readonly collection: Collection<Upload>;

  constructor(
    private readonly database: Db,
    private readonly session?: ClientSession,
  ) {
    this.collection = database.collection<Upload>('console_uploads');
  }

  async prepare(): Promise<void> {
    await this.collection.createIndex({ created_at: 1 }, { expireAfterSeconds: rememberedSeconds });
  }

  /** Stores an archive. @returns its id */
  async storeFile(bytes: Buffer): Promise<ObjectId> {
    const id = new ObjectId();
    await bundleStorage(this.database).upload({ id, filename: `uploads/${String(id)}`, bytes });
    return id;
  }

  /** @throws the driver's error, also when the archive was removed */
  readFile({ file }: Upload): Promise<Buffer> {
    return bundleStorage(this.database).download(file);
  }

  async create(upload: Upload): Promise<void> {
    await this.collection.insertOne(upload, this.options);
  }

  /** @param id any text */
  async find(id: string): Promise<Upload | undefined> {
    if (!/^[0-9a-f]{24}$/.test(id)) return undefined;
    const found = await withMongoTimeout(timeoutMs, () => this.collection.findOne({ _id: new ObjectId(id) }));
    return found ?? undefined;
  }

  /** Stores progress, unless the upload was imported meanwhile. */
  async update(id: ObjectId, fields: Partial<Omit<Upload, '_id'>>): Promise<void> {
    const filter = { _id: id, state: { $ne: 'imported' as const } };
    await this.collection.updateOne(filter, { $set: fields }, this.options);
  }

  /** Stores which model an upload became. @returns false if it was imported already */
  async markImported(id: ObjectId, modelId: string): Promise<boolean> {
    const filter = { _id: id, state: { $ne: 'imported' as const } };
    const imported = { state: 'imported' as const, model_id: modelId };
    return (await this.collection.updateOne(filter, { $set: imported }, this.options)).matchedCount === 1;
  }

  private get options() {
    return this.session === undefined ? {} : { session: this.session };
  }
}
