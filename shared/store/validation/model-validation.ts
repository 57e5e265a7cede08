import { type Collection, type Db, MongoServerError } from 'mongodb';
import type { BandRate, FailingGate, GateResult, ValidationState } from '../../contract/verdict.js';
import type { Change } from '../../redis/changes.js';
import { logged } from '../connection/change-log.js';
import { duplicateKey, withMongoTimeout } from '../connection/connect.js';

/** One document of `model_validation`: the verdict on one version of a model. Always rebuilt as a whole. */
export interface StoredVerdict {
  /** `<model>:<version>` */
  readonly _id: string;
  readonly organisation_id: string;
  readonly state: ValidationState;
  readonly failing_gate: FailingGate | null;
  readonly summary: string;
  /** When the verdict was computed. */
  readonly graded_at: Date;
  /** When the grader last checked for news since, and whether another grade is due; absent in a new verdict. */
  readonly checked?: { readonly at: Date; readonly hasNews: boolean };
  /** The grade that the verdict was computed from, if any. */
  readonly grade?: StoredGrade;
}

/** The grade behind a verdict, and the facts that the next grade needs. */
export interface StoredGrade {
  /** The time as of which the grade was computed. */
  readonly as_of: Date;
  /** The state by this grade alone, before the previous verdict was considered. */
  readonly state: ValidationState;
  readonly gates: readonly GateResult[];
  readonly bands: readonly BandRate[];
  readonly horizon_days: number;
  /** When the first of the grades that have not cleared since the pass was computed; absent if none has. */
  readonly doubted_since?: Date;
  /** After a failure: the evidence that a model must exceed to pass again. */
  readonly barrier?: {
    readonly gate: FailingGate;
    readonly conversions: number;
    /** Number of the last day whose predictions had matured then. */
    readonly cut_day: number;
  };
  /** The scores of a candidate's run that the grade counts; see `countedRun`. Absent without any. */
  readonly candidate_run?: string;
  /** The database's clock when the days were read: the next grade reads later changes. */
  readonly data_read_at: Date;
  /** When all days were last recomputed, not only changed ones; by the database's clock. */
  readonly rebuilt_at: Date;
}

/** Clocks of machines differ: a verdict that is ahead by less counts as current. */
const maxClockSkewMs = 60 * 60 * 1000;

/**
 * Whether a verdict lies in the future and therefore says nothing about now: the clock of its process was ahead.
 */
export const isAhead = ({ graded_at, grade }: VerdictHead, nowMs: number): boolean =>
  Math.max(graded_at.getTime(), grade?.as_of.getTime() ?? 0) > nowMs + maxClockSkewMs;

/** A grade after new outcomes waits for the other calls of their import. */
export const gradeDelayMs = 60_000;
/** Outcomes that arrive all the time must not keep the grader busy. */
export const minBetweenGradesMs = 15 * 60 * 1000;

/** The earliest time of a grade that outcomes of now bring. It comes 15 minutes later at most, on idle pools. */
export const nextGradeMs = (verdict: VerdictHead | undefined, nowMs: number): number =>
  Math.max(nowMs + gradeDelayMs, lastCheckMs(verdict) + minBetweenGradesMs);

/** The members of a verdict that say whether another grade is due. */
export type VerdictHead = Pick<StoredVerdict, '_id' | 'failing_gate' | 'graded_at' | 'checked'> & {
  readonly grade?: Pick<StoredGrade, 'as_of' | 'data_read_at' | 'doubted_since' | 'candidate_run'>;
  /** Predictions that the grade counted. */
  readonly stored_rows?: number;
};

/** When the grader last graded a version or found that its verdict still holds, Unix ms; 0 without a verdict. */
export const lastCheckMs = (verdict: VerdictHead | undefined): number => {
  const checkedMs = verdict?.checked?.hasNews === false ? verdict.checked.at.getTime() : 0;
  return Math.max(verdict?.graded_at.getTime() ?? 0, checkedMs);
};

export class ValidationStore {
  private readonly collection: Collection<StoredVerdict>;

  constructor(private readonly database: Db) {
    this.collection = database.collection<StoredVerdict>('model_validation');
  }

  /** @param id `<model>:<version>` */
  async find(id: string, timeoutMs: number): Promise<StoredVerdict | undefined> {
    const found = await withMongoTimeout(timeoutMs, (signal) => this.collection.findOne({ _id: id }, { signal }));
    return found ?? undefined;
  }

  /** The verdicts with these ids. */
  findAll(ids: readonly string[], timeoutMs: number): Promise<StoredVerdict[]> {
    const filter = { _id: { $in: [...ids] } };
    return withMongoTimeout(timeoutMs, (signal) => this.collection.find(filter, { signal }).toArray());
  }

  /** The heads of the verdicts of one or all organisations, by `<model>:<version>`. */
  async heads(organisationId: string | undefined): Promise<ReadonlyMap<string, VerdictHead>> {
    const heads = this.collection
      .find(organisationId === undefined ? {} : { organisation_id: organisationId })
      .project<VerdictHead>({
        ...{
          failing_gate: 1,
          graded_at: 1,
          checked: 1,
          'grade.as_of': 1,
          'grade.data_read_at': 1,
          'grade.doubted_since': 1,
        },
        'grade.candidate_run': 1,
        stored_rows: { $first: '$grade.gates.figures.stored_rows' },
      });
    return new Map((await heads.toArray()).map((head) => [head._id, head]));
  }

  /** Marks verdicts as checked, with the result. The next grade removes the mark. */
  async check(ids: readonly string[], checked: NonNullable<StoredVerdict['checked']>): Promise<void> {
    await this.collection.updateMany({ _id: { $in: [...ids] } }, { $set: { checked } });
  }

  /** Replaces the verdict of a version. */
  async replace(verdict: StoredVerdict): Promise<void> {
    await logged(this.database, async (session) => {
      const result = await this.collection.replaceOne({ _id: verdict._id }, verdict, { upsert: true, session });
      return { result, change: changeOf(verdict) };
    });
  }

  /**
   * Compare and set: replaces the verdict that the new one was computed from.
   * @param previous undefined if there was none
   * @returns false, without a change, if another grade was stored since
   */
  async replaceIfUnchanged(verdict: StoredVerdict, previous: StoredVerdict | undefined): Promise<boolean> {
    try {
      return await logged(this.database, async (session) => {
        if (previous === undefined) {
          await this.collection.insertOne(verdict, { session });
          return { result: true, change: changeOf(verdict) };
        }
        const unchanged = { _id: verdict._id, graded_at: previous.graded_at, summary: previous.summary };
        const { matchedCount } = await this.collection.replaceOne(unchanged, verdict, { session });
        return { result: matchedCount > 0, change: matchedCount > 0 ? changeOf(verdict) : undefined };
      });
    } catch (error) {
      if (error instanceof MongoServerError && error.code === duplicateKey) return false;
      throw error;
    }
  }
}

const changeOf = ({ _id: id }: StoredVerdict): Change => ({ kind: 'validation', id });
