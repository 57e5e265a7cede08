import type { ClientSession, Collection, Db, UpdateFilter } from 'mongodb';
import { dayMs } from '../../contract/dates.js';
import { inSession } from '../connection/transaction.js';
import type { DocumentId, OwnIds } from './own-ids.js';

/** Counted records of one month. */
export interface MonthRecords {
  /** `YYYY-MM`, UTC. */
  readonly month: string;
  readonly live: number;
  readonly test: number;
}

/** How far a removal has come. */
interface RemovalWork {
  /** Counts the changes, so that two processes notice each other. */
  readonly revision: number;
  /** The data is gone through twice at least; from 1. */
  readonly pass: number;
  /** The part that is removed now; absent at the beginning of a pass. */
  readonly part?: string;
  /** Documents of the part that are being removed. They are counted already. */
  readonly batch?: readonly DocumentId[];
  /** The pass begins at this instant. */
  readonly begins_at: Date;
  readonly ids: OwnIds;
}

/** One document of `org_deletions`: an organisation that is to be deleted, or was. It has no name of it. */
export interface Deletion {
  /** The id of the organisation. */
  readonly _id: string;
  /**
   * `pending` can be taken back. `removing` has begun to remove, and nothing stops it. `deleted` is a receipt, and
   * `taken_back` tells a restore from an older backup that the organisation stays.
   */
  readonly state: 'pending' | 'removing' | 'deleted' | 'taken_back';
  readonly requested_at: Date;
  /** The operator who asked for it. */
  readonly by: string;
  /** The removal begins at this instant. */
  readonly due_at: Date;
  readonly begun_at?: Date;
  /** Removed documents by collection, and files of the bucket `bundles`. Absent until the removal begins. */
  readonly removed?: Readonly<Record<string, number>>;
  /** Records of the ledger, earliest month first. Absent until the removal begins. */
  readonly records?: readonly MonthRecords[];
  /** Absent unless it is `removing`. */
  readonly work?: RemovalWork;
  /** When it was deleted or taken back. From then on the document is kept for 400 days. */
  readonly ended_at?: Date;
}

/** A deletion whose removal has begun. */
export type Removal = Deletion & Required<Pick<Deletion, 'work' | 'removed'>>;

/** A receipt is kept for this long, as an erasure is. */
const rememberedSeconds = (400 * dayMs) / 1_000;
/** The last ordered first. */
const lastOrdered = { requested_at: -1, _id: 1 } as const;
const majority = { writeConcern: { w: 'majority' } } as const;

/**
 * The organisations that are to be deleted, and the receipts of those that were. The collection is small: operators
 * order each deletion by its name, and a receipt goes after 400 days. So queries of all organisations read it whole.
 */
export class DeletionStore {
  private readonly collection: Collection<Deletion>;

  /** @param session a transaction in which all calls take part */
  constructor(
    database: Db,
    private readonly session?: ClientSession,
  ) {
    this.collection = database.collection<Deletion>('org_deletions');
  }

  async prepare(): Promise<void> {
    await this.collection.createIndex({ ended_at: 1 }, { expireAfterSeconds: rememberedSeconds });
    await this.collection.createIndex(lastOrdered);
  }

  async find(organisationId: string): Promise<Deletion | undefined> {
    return (await this.collection.findOne({ _id: organisationId }, inSession(this.session))) ?? undefined;
  }

  /** Stores a deletion that is to come, in place of an earlier one of this organisation. */
  async put(deletion: Deletion): Promise<void> {
    const { _id, ...rest } = deletion;
    await this.collection.replaceOne({ _id }, rest, { upsert: true, ...inSession(this.session) });
  }

  /** Takes a deletion back unless its removal has begun. @returns whether it did */
  async takeBack(organisationId: string, at: Date): Promise<boolean> {
    const pending = { _id: organisationId, state: 'pending' } as const;
    const taken = { $set: { state: 'taken_back', ended_at: at } } as const;
    return (await this.collection.updateOne(pending, taken, inSession(this.session))).matchedCount === 1;
  }

  /** The organisations whose data is to go, or is going. */
  async unfinished(): Promise<string[]> {
    const open = { state: { $in: ['pending', 'removing'] } } as const;
    const found = this.collection.find(open).project<{ readonly _id: string }>({ _id: 1 });
    return (await found.toArray()).map(({ _id }) => _id);
  }

  /** All deletions that are to come or have ended, without how far a removal came; the last ordered first. */
  async list(): Promise<Omit<Deletion, 'work'>[]> {
    return await this.collection.find().project<Omit<Deletion, 'work'>>({ work: 0 }).sort(lastOrdered).toArray();
  }

  /** The deletions whose days are over, the earliest first. */
  async due(now: Date): Promise<Deletion[]> {
    return await this.collection
      .find({ $or: [{ state: 'removing' }, { state: 'pending', due_at: { $lte: now } }] })
      .sort({ due_at: 1, _id: 1 })
      .toArray();
  }

  /**
   * Begins a removal.
   * @returns undefined if it was taken back or another process was first
   */
  async begin(
    organisationId: string,
    { at, records, ids }: { readonly at: Date; readonly records: readonly MonthRecords[]; readonly ids: OwnIds },
  ): Promise<Removal | undefined> {
    const work: RemovalWork = { revision: 0, pass: 1, begins_at: at, ids };
    const begun = { state: 'removing', begun_at: at, records, removed: {}, work } as const;
    return asRemoval(
      await this.collection.findOneAndUpdate(
        { _id: organisationId, state: 'pending' },
        { $set: begun },
        { returnDocument: 'after', ...majority },
      ),
    );
  }

  /**
   * Notes the documents that are removed next, and counts them.
   * @returns undefined if another process is at work
   */
  async noteBatch(
    removal: Removal,
    {
      part,
      batch,
      isCounted,
    }: { readonly part: string; readonly batch: readonly DocumentId[]; readonly isCounted: boolean },
  ): Promise<Removal | undefined> {
    const counted = isCounted ? { $inc: { [`removed.${part}`]: batch.length } } : {};
    return await this.change(removal, { $set: { 'work.part': part, 'work.batch': batch }, ...counted });
  }

  /**
   * Ends a pass: the next one begins later.
   * @param ids what the organisation has got since the pass began
   * @returns undefined if another process is at work
   */
  async nextPass(removal: Removal, beginsAt: Date, ids: OwnIds): Promise<Removal | undefined> {
    const merged = Object.fromEntries(
      (['jobs', 'models', 'uploads', 'keys'] as const).map((kind) => [
        `work.ids.${kind}`,
        [...new Set([...removal.work.ids[kind], ...ids[kind]])],
      ]),
    );
    return await this.change(removal, {
      $set: { 'work.pass': removal.work.pass + 1, 'work.begins_at': beginsAt, ...merged },
      $unset: { 'work.part': 1, 'work.batch': 1 },
    });
  }

  /** Makes a removal a receipt. @returns whether it did */
  async end({ _id, work }: Removal, at: Date): Promise<boolean> {
    const { matchedCount } = await this.collection.updateOne(
      { _id, 'work.revision': work.revision },
      { $set: { state: 'deleted', ended_at: at }, $unset: { work: 1 } },
      majority,
    );
    return matchedCount === 1;
  }

  private async change({ _id, work }: Removal, update: UpdateFilter<Deletion>): Promise<Removal | undefined> {
    const $inc = { ...update.$inc, 'work.revision': 1 };
    const same = { _id, 'work.revision': work.revision };
    const options = { returnDocument: 'after', ...majority } as const;
    return asRemoval(await this.collection.findOneAndUpdate(same, { ...update, $inc }, options));
  }
}

function asRemoval(deletion: Deletion | null): Removal | undefined {
  if (deletion?.work === undefined || deletion.removed === undefined) return undefined;
  return { ...deletion, work: deletion.work, removed: deletion.removed };
}

export const isRemoval = (deletion: Deletion): deletion is Removal => asRemoval(deletion) !== undefined;
