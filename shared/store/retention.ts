import type { ClientSession, Collection, Db } from 'mongodb';

/** The one document of `retention`: predictions of this UTC day and later are all there; of older ones some may be gone. */
interface Retention {
  readonly _id: 'predictions';
  /** A number of a UTC day, see utc-day.ts. */
  readonly kept_from_day: number;
  /** All predictions whose `_id` is smaller have been removed. */
  readonly removed_before_id?: string;
}

/** From when on predictions are kept, as upkeep has left it. */
export class RetentionStore {
  private readonly collection: Collection<Retention>;

  constructor(database: Db) {
    this.collection = database.collection<Retention>('retention');
  }

  /** The first UTC day of which every prediction is there; undefined while none was ever removed for its age. */
  async keptFromDay(session?: ClientSession): Promise<number | undefined> {
    const found = await this.collection.findOne(
      { _id: 'predictions' },
      session === undefined ? {} : { session },
    );
    return found?.kept_from_day;
  }

  /** Notes, before any of them is removed, that predictions before a day may go. It never moves back. */
  async keepFrom(day: number): Promise<void> {
    await this.collection.updateOne(
      { _id: 'predictions' },
      { $max: { kept_from_day: day } },
      { upsert: true, writeConcern: { w: 'majority' } },
    );
  }

  /** Up to where predictions have been removed, to go on from there; '' while none was. */
  async removedBeforeId(): Promise<string> {
    return (await this.collection.findOne({ _id: 'predictions' }))?.removed_before_id ?? '';
  }

  /** Notes up to where predictions have been removed. It never moves back. */
  async noteRemoved(beforeId: string): Promise<void> {
    await this.collection.updateOne({ _id: 'predictions' }, { $max: { removed_before_id: beforeId } });
  }
}
