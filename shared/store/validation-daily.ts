import { type Collection, type Db, MongoBulkWriteError } from 'mongodb';
import { dayText } from '../utc-day.js';

/** Cohort records of one score band, first predicted on one day. */
export interface DayBand {
  readonly cohort: number;
  /** First predictions of leads that had converted already; not in the cohort. */
  readonly excluded: number;
  /** Of the cohort, those that outcome data names. */
  readonly joined: number;
  /** Of the joined, those that converted within the horizon. */
  readonly conversions: number;
  /** Sum of the joined records' likelihoods, in ten-thousandths. */
  readonly likelihood: number;
}

/** What came in on one day: stored rows beside the ledger's count. */
export interface DayRequests {
  /** Records of live calls by the ledger, for this version. */
  readonly ledger_records: number;
  readonly stored_rows: number;
  /** Calls whose rows are not as many as the ledger counted. */
  readonly mismatched_requests: number;
  readonly without_crm_id: number;
  readonly erased: number;
}

/** What the predictions of one day are to a grade. */
export interface DayFigures extends DayRequests {
  /** Number of the UTC day of the predictions, counted from 1970-01-01. */
  readonly day: number;
  /** Number of the day on which their horizon is over: `day` + horizon. */
  readonly matured_day: number;
  /** Five, lowest scores first. */
  readonly bands: readonly DayBand[];
  /** When the newest word on any of the day's cohort came; absent without one. */
  readonly last_word_at?: Date;
  /** Records of the whole organisation's live calls on that day, by the ledger: tells whether the day has changed. */
  readonly organisation_records: number;
}

/** One document of `validation_daily`: a day of one version of a model, always recomputed as a whole. */
export interface StoredDay extends DayFigures {
  /** `<model>:<version>:<YYYY-MM-DD>` */
  readonly _id: string;
  /** `<model>:<version>` */
  readonly graded: string;
  readonly org: string;
  /** The database's clock when what the figures were computed from was read; absent of days stored before this was kept. */
  readonly read_at?: Date;
  /** Set when something of the day was erased; taken off before the day is computed again. */
  readonly stale?: true;
}

/** Whose days are written, and when what they were computed from was read. */
export interface DayOwner {
  /** `<model>:<version>` */
  readonly graded: string;
  readonly organisationId: string;
  readonly readAt: Date;
}

const duplicateKey = 11_000;

const isDuplicateKey = (error: unknown): boolean =>
  error instanceof MongoBulkWriteError &&
  [error.writeErrors].flat().every(({ code }) => code === duplicateKey);

/** The days that grades are summed from: one small document a day, whatever the number of predictions. */
export class ValidationDailyStore {
  private readonly collection: Collection<StoredDay>;

  constructor(database: Db) {
    this.collection = database.collection<StoredDay>('validation_daily');
  }

  async prepare(): Promise<void> {
    await this.collection.createIndex({ graded: 1, matured_day: 1 });
    await this.collection.createIndex({ org: 1, day: 1 });
  }

  /** The days of a version that matured from one day on, earliest first. */
  days(graded: string, { maturedFrom }: { readonly maturedFrom: number }): Promise<StoredDay[]> {
    return this.collection
      .find({ graded, matured_day: { $gte: maturedFrom } })
      .sort({ matured_day: 1 })
      .toArray();
  }

  /**
   * Puts days in the place of those that were there.
   * @param of.readAt the database's clock when they were read: what was read later stays
   */
  async replace(days: readonly DayFigures[], of: DayOwner): Promise<void> {
    const { graded, organisationId, readAt } = of;
    if (days.length === 0) return;
    const writes = days.map((day) => ({
      updateOne: {
        filter: { _id: `${graded}:${dayText(day.day)}`, read_at: { $not: { $gt: readAt } } },
        update: {
          $set: { ...day, graded, org: organisationId, read_at: readAt },
          ...(day.last_word_at === undefined ? { $unset: { last_word_at: 1 as const } } : {}),
        },
        upsert: true,
      },
    }));
    try {
      await this.collection.bulkWrite(writes, { ordered: false });
    } catch (error) {
      // Days that were read later: the insert in place of an update that found nothing to do.
      if (!isDuplicateKey(error)) throw error;
    }
  }

  /** Removes days on which nothing is left, unless they were read later. */
  async remove(days: readonly number[], { graded, readAt }: Omit<DayOwner, 'organisationId'>): Promise<void> {
    if (days.length === 0) return;
    const ids = days.map((day) => `${graded}:${dayText(day)}`);
    await this.collection.deleteMany({ _id: { $in: ids }, read_at: { $not: { $gt: readAt } } });
  }

  /** Marks days of an organisation, under all its models, to be computed again. */
  async markStale(organisationId: string, days: readonly number[]): Promise<void> {
    if (days.length === 0) return;
    await this.collection.updateMany(
      { org: organisationId, day: { $in: [...days] } },
      { $set: { stale: true } },
    );
  }

  /** Takes the marks off days that are about to be computed again: one that comes meanwhile stays. */
  async clearStale(graded: string, days: readonly number[]): Promise<void> {
    if (days.length === 0) return;
    await this.collection.updateMany({ graded, day: { $in: [...days] } }, { $unset: { stale: 1 } });
  }
}
