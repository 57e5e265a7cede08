import type { ClientSession, Collection, Db } from 'mongodb';
import { dayMs } from '../../contract/dates.js';
import { inSession } from '../connection/transaction.js';

/** One document of `org_deletions`: an organisation that is to be deleted, or was. */
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
  /** When it was deleted or taken back. From then on the document is kept for 400 days. */
  readonly ended_at?: Date;
}

/** A receipt is kept for this long, as an erasure is. */
const rememberedSeconds = (400 * dayMs) / 1_000;

/** The organisations that are to be deleted, and the receipts of those that were. */
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
    const found = this.collection
      .find({ state: { $in: ['pending', 'removing'] } })
      .project<{ readonly _id: string }>({ _id: 1 });
    return (await found.toArray()).map(({ _id }) => _id);
  }
}
