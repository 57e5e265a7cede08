import { promisify } from 'node:util';
import { constants, gunzip, gzip } from 'node:zlib';
import { Binary, type Collection, type Db, type Filter } from 'mongodb';
import { amongIds, createClustered, type WriteOptions } from '../connection/connect.js';
import {
  type BlobKind,
  blobId,
  idsOfJob,
  idsOfOrganisation,
  type JobBlob,
  type JobSlice,
  jobOfSlice,
  openSliceStates,
  type SliceBytes,
  type SliceOutcome,
  sliceId,
} from './job-documents.js';

const majority = { writeConcern: { w: 'majority' } } as const;
const [inflate, deflate] = [promisify(gunzip), promisify(gzip)];

/** Room for most slices: each piece of the output is a task of a thread, and they are joined at the end. */
const memberOptions = { chunkSize: 256 * 1024, level: constants.Z_BEST_SPEED };

/** Rows as a gzip member, of the quickest level: each row is compressed as input and as result. */
export const deflateQuickly = (rows: Uint8Array | string): Promise<Buffer> => deflate(rows, memberOptions);

/** The rows of a gzip member. */
export const inflateMember = (member: Uint8Array): Promise<Buffer> => inflate(member, memberOptions);

/** A slice was finished by another process, or the job was removed. */
export class SliceTaken extends Error {
  override name = 'SliceTaken';
}

/** A slice as it was read, and its start in the results. */
export interface Settling {
  readonly slice: Pick<JobSlice, '_id' | 'outcome'>;
  readonly start: SliceBytes;
}

const settling = ({ slice: { _id, outcome }, start }: Settling) => ({
  filter: {
    _id,
    state: { $in: ['done', 'settled'] as const satisfies readonly JobSlice['state'][] },
    'outcome.call_id': outcome?.call_id ?? { $exists: false },
  },
  update: { $set: { state: 'settled' as const, start } },
});

/** The slices of jobs, and their rows as gzip members. */
export class SliceStore {
  private readonly slices: Collection<JobSlice>;
  private readonly blobs: Collection<JobBlob>;

  constructor(private readonly database: Db) {
    this.slices = database.collection<JobSlice>('job_slices');
    this.blobs = database.collection<JobBlob>('job_blobs');
  }

  async prepare(): Promise<void> {
    await createClustered(this.database, 'job_slices');
    await createClustered(this.database, 'job_blobs');
    const withCall = { 'outcome.call_id': { $exists: true } };
    await this.slices.createIndex({ 'outcome.call_id': 1 }, { partialFilterExpression: withCall });
  }

  /**
   * Stores slices with their input, unless it is a range of the upload. Existing ones stay as they are: reading begins
   * again after a crash.
   * @param options of a transaction, if the caller has one
   */
  async add(
    jobId: string,
    added: readonly {
      readonly slice: Omit<JobSlice, '_id' | 'state'> & { readonly number: number };
      readonly input?: Uint8Array;
    }[],
    options: WriteOptions | typeof majority = majority,
  ): Promise<void> {
    if (added.length === 0) return;
    // The input first: a slice without its input could not be scored.
    const inputs = added.flatMap(({ slice, input }) => {
      if (input === undefined) return [];
      const filter = { _id: blobId(sliceId(jobId, slice.number), 'input') };
      return { updateOne: { filter, update: { $setOnInsert: { data: new Binary(input) } }, upsert: true } };
    });
    if (inputs.length > 0) await this.blobs.bulkWrite(inputs, { ordered: false, ...options });
    await this.slices.bulkWrite(
      added.map(({ slice: { number, ...slice } }) => ({
        updateOne: {
          filter: { _id: sliceId(jobId, number) },
          update: { $setOnInsert: { ...slice, state: openState(slice) } },
          upsert: true,
        },
      })),
      { ordered: false, ...options },
    );
  }

  /** Slices of a job in order. @param range numbers from `from`, at most `limit`; all, or those without an outcome */
  async list(
    jobId: string,
    { from, limit, state }: { readonly from: number; readonly limit: number; readonly state?: 'open' },
  ): Promise<JobSlice[]> {
    const ids = { $gte: sliceId(jobId, from), $lt: idsOfJob(jobId).$lt };
    return await this.slices
      .find({ _id: ids, ...(state === 'open' && { state: { $in: [...openSliceStates] } }) })
      .sort({ _id: 1 })
      .limit(limit)
      .toArray();
  }

  /** Rows of the longest slice of a job that is stored; 0 without one. */
  async mostRows(jobId: string): Promise<number> {
    const longest = await this.slices.findOne(
      { _id: idsOfJob(jobId) },
      { sort: { rows: -1 }, projection: { rows: 1 } },
    );
    return longest?.rows ?? 0;
  }

  async find(id: string, options?: WriteOptions): Promise<JobSlice | undefined> {
    return (await this.slices.findOne({ _id: id }, options)) ?? undefined;
  }

  /**
   * The number of the last settled slice that begins at a byte of a file or before it. Asks for a dozen slices of ten
   * thousand.
   * @param settled number of settled slices, from the job
   */
  async sliceAt(
    jobId: string,
    { settled, size, byte }: { readonly settled: number; readonly size: keyof SliceBytes; readonly byte: number },
  ): Promise<number> {
    let [low, high] = [0, settled - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      const slice = await this.slices.findOne({ _id: sliceId(jobId, middle) }, { projection: { start: 1 } });
      if (slice === null) throw new Error(`slice ${middle} of ${jobId} is not stored`);
      if ((slice.start?.[size] ?? 0) <= byte) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /**
   * Slices of a job, in order, that have bytes of a file.
   * @param range numbers from `from` to before `to`, at most `limit`
   */
  async withBytes(
    jobId: string,
    size: keyof SliceBytes,
    { from, to, limit }: { readonly from: number; readonly to: number; readonly limit: number },
  ): Promise<JobSlice[]> {
    const filter = {
      _id: { $gte: sliceId(jobId, from), $lt: sliceId(jobId, to) },
      state: 'settled' as const,
      [`outcome.${size}`]: { $gt: 0 },
    };
    return await this.slices.find(filter).sort({ _id: 1 }).limit(limit).toArray();
  }

  /** The rows of a slice, as one gzip member. */
  async read(id: string, kind: BlobKind, options?: WriteOptions): Promise<Buffer | undefined> {
    const blob = await this.blobs.findOne({ _id: blobId(id, kind) }, options);
    return blob === null
      ? undefined
      : Buffer.from(blob.data.buffer.buffer, blob.data.buffer.byteOffset, blob.data.length());
  }

  /**
   * Finishes an open slice within the transaction that records its call.
   * @throws SliceTaken when it is not open
   */
  async finish(
    id: string,
    outcome: SliceOutcome,
    rows: { readonly results: Uint8Array; readonly errors: Uint8Array | undefined },
    options: WriteOptions,
  ): Promise<void> {
    const { matchedCount } = await this.slices.updateOne(
      { _id: id, state: { $in: [...openSliceStates] } },
      { $set: { state: 'done', outcome } },
      options,
    );
    if (matchedCount === 0) throw new SliceTaken(`the slice ${id} has an outcome, or does not exist`);
    await this.put(id, 'results', rows.results, options);
    if (rows.errors !== undefined) await this.put(id, 'errors', rows.errors, options);
  }

  /**
   * Shows the results of slices that are done. From then on their calls cannot be voided. A settled slice gets another
   * start.
   * @param settled slices as they were read: meanwhile a call may have been voided, and another one recorded
   * @returns false if a slice is open, or done by another call. The others are settled
   */
  async settle(settled: readonly Settling[]): Promise<boolean> {
    const writes = settled.map((each) => ({ updateOne: settling(each) }));
    const { matchedCount } = await this.slices.bulkWrite(writes, { ordered: false, ...majority });
    return matchedCount === settled.length;
  }

  /**
   * Opens the slice of a voided call again, within the transaction that voids the call.
   * @returns false if its results are shown: the call then stays counted
   */
  async reopen(
    call: { readonly organisationId: string; readonly callId: string },
    options: WriteOptions,
  ): Promise<boolean> {
    const ofCall = { 'outcome.call_id': call.callId, _id: idsOfOrganisation(call.organisationId) };
    const slice = await this.slices.findOne(ofCall, options);
    if (slice === null) return true;
    if (slice.state === 'settled') return false;
    await this.slices.updateOne(
      { _id: slice._id },
      { $set: { state: openState(slice) }, $unset: { outcome: 1 } },
      options,
    );
    const blobs = [blobId(slice._id, 'results'), blobId(slice._id, 'errors')];
    await this.blobs.deleteMany({ _id: amongIds(blobs) }, options);
    return true;
  }

  /** Ids of the slices that some calls have scored. */
  async ofCalls(organisationId: string, callIds: readonly string[]): Promise<string[]> {
    return await this.idsMatching(ofCalls(organisationId, callIds));
  }

  /** By call, the id of the job whose slice it has scored. */
  async jobsOfCalls(organisationId: string, callIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const slices = this.slices.find(ofCalls(organisationId, callIds), { projection: { 'outcome.call_id': 1 } });
    return new Map(
      await slices.map(({ _id, outcome }) => [outcome?.call_id ?? '', jobOfSlice(_id)] as const).toArray(),
    );
  }

  /** Ids of a job's slices that have a call. */
  async withCalls(jobId: string): Promise<string[]> {
    return await this.idsMatching({ _id: idsOfJob(jobId), 'outcome.call_id': { $exists: true } });
  }

  /** Replaces the outcome of a slice whose texts have changed. */
  async resize(id: string, outcome: SliceOutcome, options: WriteOptions): Promise<void> {
    await this.slices.updateOne({ _id: id }, { $set: { outcome } }, options);
  }

  /** Moves the start of all settled slices after one. @param by bytes, which may be negative */
  async moveAfter(id: string, by: SliceBytes, options: WriteOptions): Promise<void> {
    const after = { _id: { $gt: id, $lt: idsOfJob(jobOfSlice(id)).$lt }, start: { $exists: true } };
    await this.slices.updateMany(after, { $inc: namedIn('start', by) }, options);
  }

  /** Removes the input of settled slices. */
  async removeInputs(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.blobs.deleteMany({ _id: amongIds(ids.map((id) => blobId(id, 'input'))) });
  }

  /** Removes the input of all slices of a job that has ended early. */
  async removeAllInputs(jobId: string): Promise<void> {
    await this.blobs.deleteMany({ _id: { ...idsOfJob(jobId), $regex: /\.input$/ } });
  }

  /** Removes all slices and rows of a job. */
  async removeJob(jobId: string): Promise<void> {
    await this.slices.deleteMany({ _id: idsOfJob(jobId) });
    await this.blobs.deleteMany({ _id: idsOfJob(jobId) });
  }

  private async idsMatching(filter: Filter<JobSlice>): Promise<string[]> {
    const found = await this.slices.find(filter).project<{ _id: string }>({ _id: 1 }).toArray();
    return found.map(({ _id }) => _id);
  }

  /** Stores rows of a slice as one gzip member, within a transaction. */
  async put(id: string, kind: BlobKind, rows: Uint8Array, options: WriteOptions): Promise<void> {
    await this.blobs.replaceOne({ _id: blobId(id, kind) }, { data: new Binary(rows) }, { ...options, upsert: true });
  }
}

const openState = ({ range }: Pick<JobSlice, 'range'>): JobSlice['state'] =>
  range === undefined ? 'pending' : 'ranged';

/** Selects the slices that some calls have scored. */
const ofCalls = (organisationId: string, callIds: readonly string[]) => ({
  'outcome.call_id': { $in: [...callIds] },
  _id: idsOfOrganisation(organisationId),
});

/** Members of an embedded document, named from its parent. */
export const namedIn = (parent: string, members: object): Record<string, number> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [`${parent}.${name}`, value]));
