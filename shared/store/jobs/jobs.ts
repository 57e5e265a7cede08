import type { Collection, Db, Filter, UpdateFilter } from 'mongodb';
import type { UsageBucket } from '../../redis/keys.js';
import { type WriteOptions, withMongoTimeout } from '../connection/connect.js';
import type { InputSums } from './input-sums.js';
import { idsOfOrganisation, type Job, type JobState, type JobTotals, type SliceBytes } from './job-documents.js';
import { namedIn } from './job-slices.js';

const timeoutMs = 5_000;
const withoutFile = { 'file.shape': 0, 'file.header_line': 0, 'file.fields': 0, input: 0 } as const;
const majority = { writeConcern: { w: 'majority' } } as const;

/** The jobs that a key may see: those of its organisation and bucket. */
export interface JobOwner {
  readonly organisationId: string;
  readonly bucket: UsageBucket;
}

/** Has only the slices of the file, and the length of the upload. */
type JobInState = Pick<Job, '_id' | 'org' | 'state' | 'pause' | 'created_at' | 'upload' | 'file'>;

interface JobPageRequest {
  readonly before?: string;
  readonly limit: number;
  readonly name?: string;
  readonly sha256?: string;
  readonly fingerprint?: string;
}

/** Bulk jobs. Every change names the states from which it is allowed, so concurrent changes exclude each other. */
export class JobStore {
  private readonly collection: Collection<Job>;

  constructor(database: Db) {
    this.collection = database.collection<Job>('jobs');
  }

  async prepare(): Promise<void> {
    await this.collection.createIndex(
      { org: 1, bucket: 1, 'idempotency.key': 1 },
      { unique: true, partialFilterExpression: { 'idempotency.key': { $exists: true } } },
    );
    await this.collection.createIndex({ state: 1, ended_at: 1 });
    await this.collection.createIndex({ purge_at: 1 });
    await this.collection.createIndex({ org: 1, state: 1, _id: 1 });
    await this.collection.createIndex({ org: 1, bucket: 1, _id: -1 });
    // Each piece of an upload sums them.
    await this.collection.createIndex({ org: 1, _id: 1, 'upload.bytes': 1 });
    // The filters of lists. Each branch of `$or` has its own, in the order of the list.
    for (const name of ['options.name', 'options.sha256', 'upload.sha256', 'fingerprint'])
      await this.collection.createIndex(
        { org: 1, bucket: 1, [name]: 1, _id: -1 },
        { partialFilterExpression: { [name]: { $exists: true } } },
      );
  }

  /** @param id any text */
  async find(id: string, { organisationId, bucket }: JobOwner): Promise<Job | undefined> {
    const found = await this.collectionFind({ _id: id, org: organisationId, bucket });
    return found ?? undefined;
  }

  async findByKey({ organisationId, bucket }: JobOwner, idempotencyKey: string): Promise<Job | undefined> {
    const filter = { org: organisationId, bucket, 'idempotency.key': idempotencyKey };
    return (await this.collectionFind(filter)) ?? undefined;
  }

  async findById(id: string, options?: WriteOptions): Promise<Job | undefined> {
    return (await this.collectionFind({ _id: id }, options)) ?? undefined;
  }

  /** The state of a job; undefined if it does not exist. */
  async stateOf(id: string): Promise<JobState | undefined> {
    const found = await this.collection.findOne({ _id: id }, { projection: { state: 1 }, readConcern: 'majority' });
    return found?.state;
  }

  /** Ids of the jobs of an organisation's test keys. */
  async ofTestKeys(organisationId: string): Promise<string[]> {
    const ids = { _id: idsOfOrganisation(organisationId), org: organisationId, bucket: 'test' as const };
    const found = await this.collection.find(ids).project<{ _id: string }>({ _id: 1 }).toArray();
    return found.map(({ _id }) => _id);
  }

  /**
   * Jobs of a key, newest first, without the columns and fields of their files.
   * @param page.before id of the last job of the previous page
   * @param page.name of the file, if only such jobs are wanted
   * @param page.sha256 of the file, named or read, if only such jobs are wanted; so for `fingerprint`
   */
  async list({ organisationId, bucket }: JobOwner, page: JobPageRequest): Promise<Job[]> {
    const { before, limit, name, sha256, fingerprint } = page;
    const range = idsOfOrganisation(organisationId);
    const filter: Filter<Job> = {
      _id: before === undefined ? range : { ...range, $lt: before },
      ...{ org: organisationId, bucket },
      ...(name !== undefined && { 'options.name': name }),
      ...(fingerprint !== undefined && { fingerprint }),
    };
    const ofContent = [{ 'options.sha256': sha256 }, { 'upload.sha256': sha256 }] as const;
    return await withMongoTimeout(timeoutMs, () =>
      this.collection
        // With all of the filter in each branch, MongoDB takes an index for each.
        .find(sha256 === undefined ? filter : { $or: ofContent.map((digest) => ({ ...filter, ...digest })) })
        .project<Job>(withoutFile)
        .sort({ _id: -1 })
        .limit(limit)
        .toArray(),
    );
  }

  /**
   * Bytes of uploads of all jobs of an organisation but one. Jobs keep their files, or as much in another form, until
   * they go.
   */
  async storedBytesBeside({ _id, org }: Pick<Job, '_id' | 'org'>): Promise<number> {
    const others = { _id: { ...idsOfOrganisation(org), $ne: _id }, org };
    const sum = { $group: { _id: null, bytes: { $sum: '$upload.bytes' } } };
    const [total] = await withMongoTimeout(timeoutMs, () =>
      this.collection.aggregate<{ readonly bytes: number }>([{ $match: others }, sum]).toArray(),
    );
    return total?.bytes ?? 0;
  }

  /** The number of jobs in a state, of all organisations. */
  async countInState(state: JobState): Promise<number> {
    return await withMongoTimeout(timeoutMs, () => this.collection.countDocuments({ state }));
  }

  /** The jobs in some states, of all organisations, oldest first in each. Without the options and the file's header. */
  async inStates(states: readonly JobState[]): Promise<JobInState[]> {
    return await this.collection
      .find({ state: { $in: [...states] } })
      .project<Job>({ org: 1, state: 1, pause: 1, created_at: 1, 'upload.length': 1, 'file.slices': 1 })
      .sort({ _id: 1 })
      .toArray();
  }

  /** Jobs that were canceled since a time. */
  async canceledSince(since: Date): Promise<Job[]> {
    return await this.collection
      .find({ state: 'canceled', ended_at: { $gte: since }, file: { $exists: true } })
      .toArray();
  }

  /** Ids of an organisation's jobs whose files are to be read, oldest first. */
  async readingOf(organisationId: string): Promise<string[]> {
    const found = await this.collection
      .find({ _id: idsOfOrganisation(organisationId), org: organisationId, state: 'reading' })
      .project<{ readonly _id: string }>({ _id: 1 })
      .sort({ _id: 1 })
      .toArray();
    return found.map(({ _id }) => _id);
  }

  /** The paused jobs of an organisation, newest first, without the columns and fields of their files. */
  async pausedOf(organisationId: string): Promise<Job[]> {
    const filter = { _id: idsOfOrganisation(organisationId), org: organisationId, state: 'paused' as const };
    return await withMongoTimeout(timeoutMs, () =>
      this.collection.find(filter).project<Job>(withoutFile).sort({ _id: -1 }).toArray(),
    );
  }

  /** Jobs whose documents are due to be removed. */
  async due(now: Date, limit: number): Promise<Pick<Job, '_id' | 'org'>[]> {
    return await this.collection
      .find({ purge_at: { $lte: now } })
      .project<Job>({ org: 1 })
      .limit(limit)
      .toArray();
  }

  /**
   * Notes, within the transaction that stores slices of stored leads, how many rows they have. So two readings never
   * add slices to one job.
   * @returns false if the job is no longer read, or another reading has begun
   */
  async noteRead(id: string, reader: NonNullable<Job['reader']>, options: WriteOptions): Promise<boolean> {
    const { matchedCount } = await this.collection.updateOne(
      { _id: id, state: 'reading', 'reader.id': reader.id },
      { $set: { 'reader.rows': reader.rows } },
      options,
    );
    return matchedCount === 1;
  }

  /**
   * Changes a job if it is in one of some states.
   * @returns the job after the change; undefined if it is in another state, or does not exist
   */
  async change(
    id: string,
    from: readonly JobState[],
    update: UpdateFilter<Job>,
    also: Filter<Job> = {},
  ): Promise<Job | undefined> {
    const changed = await withMongoTimeout(timeoutMs, () =>
      this.collection.findOneAndUpdate({ ...also, _id: id, state: { $in: [...from] } }, update, {
        returnDocument: 'after',
        ...majority,
      }),
    );
    return changed ?? undefined;
  }

  /**
   * Moves the end of the settled prefix forward.
   * @param more the sums of its input up to there, and notices that the job gets
   * @returns false if another process has moved it, or an erasure has changed results, since the job was read
   */
  async advance(
    { _id, settled, revision }: Pick<Job, '_id' | 'settled' | 'revision'>,
    to: JobTotals,
    { input, notices = [] }: { readonly input?: InputSums | undefined; readonly notices?: readonly string[] } = {},
  ): Promise<boolean> {
    const { matchedCount } = await this.collection.updateOne(
      { _id, 'settled.slices': settled.slices, revision },
      {
        $set: { settled: to, ...(input !== undefined && { input }) },
        ...(notices.length > 0 && { $push: { notices: { $each: [...notices] } } }),
      },
      majority,
    );
    return matchedCount === 1;
  }

  /** Stores that an erasure has changed results. @param by bytes of the settled prefix, which may be negative */
  async resize(id: string, by: SliceBytes | undefined, options: WriteOptions): Promise<void> {
    await this.collection.updateOne({ _id: id }, { $inc: { revision: 1, ...namedIn('settled', by ?? {}) } }, options);
  }

  async remove(id: string): Promise<void> {
    await this.collection.deleteOne({ _id: id });
  }

  private collectionFind(filter: Filter<Job>, options?: WriteOptions): Promise<Job | null> {
    return withMongoTimeout(timeoutMs, () => this.collection.findOne(filter, options ?? { readConcern: 'majority' }));
  }
}
