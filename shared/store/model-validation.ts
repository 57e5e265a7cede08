import { type Collection, type Db, MongoServerError } from 'mongodb';
import type { BandRate, FailingGate, GateResult, ValidationState } from '../verdict.js';
import { inTime } from './in-time.js';

/** One document of `model_validation`: the verdict on one version of a model. Rebuilt as a whole, never incremented. */
export interface StoredVerdict {
  /** `<model>:<version>` */
  readonly _id: string;
  readonly organisation_id: string;
  readonly state: ValidationState;
  readonly failing_gate: FailingGate | null;
  readonly summary: string;
  /** When it was computed; an old verdict claims nothing. */
  readonly graded_at: Date;
  /** What it was computed from; absent where a verdict was stored without a grade. */
  readonly grade?: StoredGrade;
}

/** The grade behind a verdict, and what the next grade has to know of it. */
export interface StoredGrade {
  /** The clock of the grade. */
  readonly as_of: Date;
  /** What this grade said by itself, before it was weighed against the one before. */
  readonly state: ValidationState;
  readonly gates: readonly GateResult[];
  readonly bands: readonly BandRate[];
  readonly horizon_days: number;
  /** Failing grades in a row, up to this one. */
  readonly failing_grades: number;
  /** What a model that its outcomes have failed must exceed to pass again. */
  readonly barrier?: {
    readonly gate: FailingGate;
    readonly conversions: number;
    /** The last day whose predictions had matured then, by its number; absent of those stored before this was kept. */
    readonly cut_day?: number;
  };
  /** The database's clock when the days were read: what changed later is read next time. */
  readonly data_read_at: Date;
  /** When all days were last computed, and not only those that had changed; by the database's clock. */
  readonly rebuilt_at: Date;
}

const duplicateKey = 11_000;
/** Clocks of machines differ: a verdict of one that is ahead by less is taken as of now. */
const clockDifferenceMs = 60 * 60 * 1000;

/**
 * Whether a verdict is of an instant that has not come yet: one from before grades as of a later date were only shown, or
 * from a process whose clock was moved on. It says nothing about now.
 */
export const isAhead = ({ graded_at, grade }: StoredVerdict, nowMs: number): boolean =>
  Math.max(graded_at.getTime(), grade?.as_of.getTime() ?? 0) > nowMs + clockDifferenceMs;

/** The verdicts. */
export class ValidationStore {
  private readonly collection: Collection<StoredVerdict>;

  constructor(database: Db) {
    this.collection = database.collection<StoredVerdict>('model_validation');
  }

  /** @param id `<model>:<version>` */
  async find(id: string, timeoutMs: number): Promise<StoredVerdict | undefined> {
    const found = await inTime(timeoutMs, (signal) => this.collection.findOne({ _id: id }, { signal }));
    return found ?? undefined;
  }

  /** Puts a verdict in the place of the one before. */
  async replace(verdict: StoredVerdict): Promise<void> {
    await this.collection.replaceOne({ _id: verdict._id }, verdict, { upsert: true });
  }

  /**
   * Puts a verdict in the place of the very one that it was weighed against.
   * @param previous undefined when there was none
   * @returns false when another grade was stored meanwhile: nothing is changed then
   */
  async replaceIfUnchanged(verdict: StoredVerdict, previous: StoredVerdict | undefined): Promise<boolean> {
    try {
      if (previous === undefined) {
        await this.collection.insertOne(verdict);
        return true;
      }
      const unchanged = { _id: verdict._id, graded_at: previous.graded_at, summary: previous.summary };
      return (await this.collection.replaceOne(unchanged, verdict)).matchedCount > 0;
    } catch (error) {
      if (error instanceof MongoServerError && error.code === duplicateKey) return false;
      throw error;
    }
  }
}
