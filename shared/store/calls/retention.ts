import type { ClientSession, Collection, Db } from 'mongodb';
import { inSession } from '../connection/transaction.js';

/** One document of `retention`. */
interface Retention {
  readonly _id: 'predictions';
  /** Number of a UTC day: all predictions of it and of later days exist; older ones may be removed. */
  readonly kept_from_day: number;
  /** All predictions of earlier days have been removed. */
  readonly removed_before_day?: number;
  /**
   * The pass in progress through all organisations: the day it removes up to, and the last call ids it has dealt with.
   */
  readonly pass?: RemovalPass;
}

interface RemovalPass {
  readonly before_day: number;
  readonly after_id: string;
}

/** The other document of `retention`: the daily pass through all outcomes. */
interface OutcomePass {
  readonly _id: 'outcomes';
  /** Number of the UTC day on which the pass began. */
  readonly day: number;
  /** The outcomes up to this lead have been checked. Absent when the pass is complete. */
  readonly after?: OutcomeKey;
}

/** The key of an outcome: outcomes are read in its order. */
export interface OutcomeKey {
  readonly org: string;
  readonly crm_id: string;
}

/** The progress of the retention jobs. */
export class RetentionStore {
  private readonly collection: Collection<Retention>;
  private readonly passes: Collection<OutcomePass>;

  constructor(database: Db) {
    this.collection = database.collection<Retention>('retention');
    this.passes = database.collection<OutcomePass>('retention');
  }

  /** Where the pass through the outcomes continues on a day; undefined if that of the day is complete. */
  async outcomesAfter(day: number): Promise<OutcomeKey | undefined> {
    const pass = await this.passes.findOne({ _id: 'outcomes' });
    return pass?.after ?? (pass?.day === day ? undefined : { org: '', crm_id: '' });
  }

  /** Stores where the pass through the outcomes continues; without `after`, that it is complete. */
  async storeOutcomesPass(day: number, after: OutcomeKey | undefined): Promise<void> {
    await this.passes.replaceOne({ _id: 'outcomes' }, { day, ...(after && { after }) }, { upsert: true });
  }

  /** The first UTC day with all its predictions; undefined if retention has never removed any. */
  async keptFromDay(session?: ClientSession): Promise<number | undefined> {
    const found = await this.collection.findOne({ _id: 'predictions' }, inSession(session));
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

  /**
   * The pass that removes predictions of earlier days than one; undefined if it is complete. It reads from the day of
   * the last complete pass on, if there was one, and continues after a call id.
   */
  async removalPass(
    beforeDay: number,
  ): Promise<{ readonly fromDay: number | undefined; readonly afterId: string } | undefined> {
    const found = await this.collection.findOne({ _id: 'predictions' });
    const fromDay = found?.removed_before_day;
    if (fromDay !== undefined && fromDay >= beforeDay) return undefined;
    const { pass } = found ?? {};
    return { fromDay, afterId: pass?.before_day === beforeDay ? pass.after_id : '' };
  }

  /** Stores the organisation with which a pass is done; without an id, that it is complete. */
  async storeRemovalPass(beforeDay: number, afterId: string | undefined): Promise<void> {
    const change =
      afterId === undefined
        ? { $max: { removed_before_day: beforeDay }, $unset: { pass: 1 as const } }
        : { $set: { pass: { before_day: beforeDay, after_id: afterId } } };
    await this.collection.updateOne({ _id: 'predictions' }, change, { upsert: true });
  }
}
