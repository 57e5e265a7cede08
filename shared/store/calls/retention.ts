import type { ClientSession, Collection, Db } from 'mongodb';

/** One document of `retention`. */
interface Retention {
  readonly _id: 'predictions';
  /** Number of a UTC day: all predictions of it and of later days exist; older ones may be removed. */
  readonly kept_from_day: number;
  /** All predictions with a smaller `_id` have been removed. */
  readonly removed_before_id?: string;
}

/** The other document of `retention`: the daily pass through all outcomes. */
interface OutcomePass {
  readonly _id: 'outcomes';
  /** Number of the UTC day on which the pass began. */
  readonly day: number;
  /** The outcomes up to this `_id` have been checked. Absent when the pass is complete. */
  readonly after_id?: string;
}

/** The progress of the retention jobs. */
export class RetentionStore {
  private readonly collection: Collection<Retention>;
  private readonly passes: Collection<OutcomePass>;

  constructor(database: Db) {
    this.collection = database.collection<Retention>('retention');
    this.passes = database.collection<OutcomePass>('retention');
  }

  /** The id after which the pass through the outcomes continues on a day; undefined if that of the day is complete. */
  async outcomesAfterId(day: number): Promise<string | undefined> {
    const pass = await this.passes.findOne({ _id: 'outcomes' });
    return pass?.after_id ?? (pass?.day === day ? undefined : '');
  }

  /** Stores where the pass through the outcomes continues; without an id, that it is complete. */
  async noteOutcomes(day: number, after_id: string | undefined): Promise<void> {
    await this.passes.replaceOne({ _id: 'outcomes' }, { day, ...(after_id && { after_id }) }, { upsert: true });
  }

  /** The first UTC day with all its predictions; undefined if retention has never removed any. */
  async keptFromDay(session?: ClientSession): Promise<number | undefined> {
    const found = await this.collection.findOne({ _id: 'predictions' }, session === undefined ? {} : { session });
    return found?.kept_from_day;
  }

  /** Stores, before any removal, that predictions before a day may be removed. The day never moves back. */
  async keepFrom(day: number): Promise<void> {
    await this.collection.updateOne(
      { _id: 'predictions' },
      { $max: { kept_from_day: day } },
      { upsert: true, writeConcern: { w: 'majority' } },
    );
  }

  /** Where the next removal continues; '' if none has run. */
  async removedBeforeId(): Promise<string> {
    return (await this.collection.findOne({ _id: 'predictions' }))?.removed_before_id ?? '';
  }

  /** Stores where the next removal continues. The id never moves back. */
  async noteRemoved(beforeId: string): Promise<void> {
    await this.collection.updateOne({ _id: 'predictions' }, { $max: { removed_before_id: beforeId } });
  }
}
