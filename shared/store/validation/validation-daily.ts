import { type Collection, type Db, MongoBulkWriteError } from 'mongodb';
import { dayText } from '../../contract/dates.js';
import { duplicateKey } from '../connection/connect.js';

/** The records of one score band that were first predicted on one day. */
export interface DayBand {
  readonly cohort: number;
  /** First predictions of leads that had converted before; not in the cohort. */
  readonly excluded: number;
  /** Records of the cohort with an outcome. */
  readonly joined: number;
  /** Joined records that converted within the horizon. */
  readonly conversions: number;
  /** Sum of the joined records' likelihoods, in ten-thousandths. */
  readonly likelihood: number;
}

/** The records of one day, as stored and as counted by the ledger. */
export interface DayRequests {
  /** Records of live calls of this version, by the ledger. */
  readonly ledger_records: number;
  readonly stored_rows: number;
  /** Calls with another number of rows than the ledger counted. */
  readonly mismatched_requests: number;
  readonly without_crm_id: number;
  readonly erased: number;
}

/** The figures of one day that a grade is computed from. */
export interface DayFigures extends DayRequests {
  /** Number of the UTC day of the predictions; 1970-01-01 is day 0. */
  readonly day: number;
  /** Number of the day on which their horizon ends: `day` + horizon. */
  readonly matured_day: number;
  /** Five, lowest scores first. */
  readonly bands: readonly DayBand[];
  /** When the latest outcome of the day's cohort arrived; absent without one. */
  readonly last_word_at?: Date;
  /** Records of all live calls of the organisation on that day, by the ledger: shows whether the day has changed. */
  readonly organisation_records: number;
}

/** One document of `validation_daily`: one day of a model version. Always recomputed as a whole. */
export interface StoredDay extends DayFigures {
  /** `<model>:<version>:<YYYY-MM-DD>` */
  readonly _id: string;
  /** `<model>:<version>` */
  readonly graded: string;
  readonly org: string;
  /** The database's clock when the source data was read. */
  readonly read_at: Date;
  /** Set when a lead of the day was erased; removed before the day is recomputed. */
  readonly stale?: true;
}

/** The scores of one day: members of `DayBand` in columns, lowest scores first. They are decoded in half the time. */
export interface DayScores extends Pick<DayFigures, 'day' | 'matured_day'> {
  readonly cohort: readonly number[];
  readonly joined: readonly number[];
  readonly likelihood: readonly number[];
}

/** The version whose days are written, and the time when their source data was read. */
export interface DayOwner {
  /** `<model>:<version>` */
  readonly graded: string;
  readonly organisationId: string;
  readonly readAt: Date;
}

const isDuplicateKey = (error: unknown): boolean =>
  error instanceof MongoBulkWriteError && [error.writeErrors].flat().every(({ code }) => code === duplicateKey);

/** The days that grades are summed from: one small document a day, however many predictions it has. */
export class ValidationDailyStore {
  private readonly collection: Collection<StoredDay>;

  constructor(database: Db) {
    this.collection = database.collection<StoredDay>('validation_daily');
  }

  async prepare(): Promise<void> {
    await this.collection.createIndex({ graded: 1, matured_day: 1 });
    await this.collection.createIndex({ org: 1, day: 1 });
  }

  /** The scores of the days of a version that matured on a day or later, earliest first. */
  scores(graded: string, { maturedFrom }: { readonly maturedFrom: number }): Promise<DayScores[]> {
    const columns = { cohort: '$bands.cohort', joined: '$bands.joined', likelihood: '$bands.likelihood' };
    return this.collection
      .find({ graded, matured_day: { $gte: maturedFrom } })
      .project<DayScores>({ _id: 0, day: 1, matured_day: 1, ...columns })
      .sort({ matured_day: 1 })
      .toArray();
  }

  /** The days of a version that matured on a day or later, earliest first. */
  days(graded: string, { maturedFrom }: { readonly maturedFrom: number }): Promise<StoredDay[]> {
    return this.collection
      .find({ graded, matured_day: { $gte: maturedFrom } })
      .sort({ matured_day: 1 })
      .toArray();
  }

  /** The bands of some versions on the days of a range, both ends included, by the ids of the days. */
  between(
    graded: readonly string[],
    { first, last }: { readonly first: number; readonly last: number },
  ): Promise<Pick<StoredDay, 'day' | 'bands'>[]> {
    if (graded.length === 0) return Promise.resolve([]);
    const ranges = graded.map((each) => ({
      _id: { $gte: `${each}:${dayText(first)}`, $lte: `${each}:${dayText(last)}` },
    }));
    return this.collection.find({ $or: ranges }, { projection: { _id: 0, day: 1, bands: 1 } }).toArray();
  }

  /**
   * Replaces days, except those whose source data was read later.
   * @param of.readAt by the database's clock
   */
  async replace(days: readonly DayFigures[], of: DayOwner): Promise<void> {
    const { graded, organisationId, readAt } = of;
    if (days.length === 0) return;
    const writes = days.map((day) => ({
      updateOne: {
        filter: { _id: `${graded}:${dayText(day.day)}`, read_at: { $lte: readAt } },
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
      // A day that was read later does not match the filter, so its upsert fails as a duplicate.
      if (!isDuplicateKey(error)) throw error;
    }
  }

  /** Removes days, except those whose source data was read later. */
  async remove(days: readonly number[], { graded, readAt }: Omit<DayOwner, 'organisationId'>): Promise<void> {
    if (days.length === 0) return;
    const ids = days.map((day) => `${graded}:${dayText(day)}`);
    await this.collection.deleteMany({ _id: { $in: ids }, read_at: { $lte: readAt } });
  }

  /** Selects versions with predictions that mature on a day or later. */
  async maturingSince(graded: readonly string[], maturedFrom: number): Promise<ReadonlySet<string>> {
    const filter = { graded: { $in: [...graded] }, matured_day: { $gte: maturedFrom }, stored_rows: { $gt: 0 } };
    return new Set(await this.collection.distinct('graded', filter));
  }

  /** Marks days of an organisation, under all its models, for recomputation. */
  async markStale(organisationId: string, days: readonly number[]): Promise<void> {
    if (days.length === 0) return;
    await this.collection.updateMany({ org: organisationId, day: { $in: [...days] } }, { $set: { stale: true } });
  }

  /** Removes the marks before days are recomputed, so that a mark set in between stays. */
  async clearStale(graded: string, days: readonly number[]): Promise<void> {
    if (days.length === 0) return;
    await this.collection.updateMany({ graded, day: { $in: [...days] } }, { $unset: { stale: 1 } });
  }
}
