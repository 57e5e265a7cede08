import { type Collection, type Db, MongoServerError, type UpdateFilter } from 'mongodb';
import type { Comparison } from '../../contract/comparison/comparison-verdict.js';
import { duplicateKey } from '../connection/connect.js';
import { versionId } from './model-versions.js';

/** The counts of a run so far. */
export interface RunCounts {
  /** Leads that the candidate has scored. */
  readonly rows: number;
  /** Leads among them that the candidate may have been trained on. */
  readonly seen: number;
  /** Leads that it cannot score. */
  readonly refused: number;
}

/** One document of `candidate_runs`: a candidate scores the first prediction of each lead of its model once more. */
export interface CandidateRun extends RunCounts {
  /** See `versionId`. */
  readonly _id: string;
  readonly org: string;
  readonly model: string;
  /** The candidate. */
  readonly version: string;
  /** When it became the candidate. */
  readonly since: Date;
  /** The version that scores calls. With another one, the run begins again. */
  readonly base: string;
  /** `dropped`: it is no candidate any longer, and its scores are being removed. */
  readonly state: 'running' | 'completed' | 'failed' | 'dropped';
  /** Leads that were scored first between these ids are scored. Earlier segments tell only which leads are known. */
  readonly from_id: string;
  readonly until_id: string;
  /** Absent until the leads are counted. */
  readonly total?: number;
  /** The last segment that is done, with all before it. */
  readonly after_id?: string;
  /** Why the run failed, for people. */
  readonly message?: string;
  readonly started_at: Date;
  readonly ended_at?: Date;
  /** The latest comparison with the base, once the run is complete. */
  readonly comparison?: StoredComparison;
}

export interface StoredComparison extends Comparison {
  readonly compared_at: Date;
}

/** Names one attempt: a run that begins again has another time. */
type RunKey = Pick<CandidateRun, '_id' | 'started_at'>;

/** The ids of a model's runs. In ASCII `;` follows `:`. */
const idsOf = (modelId: string) => ({ $gte: `${modelId}:`, $lt: `${modelId};` });

const majority = { writeConcern: { w: 'majority' } } as const;

/** The runs of all candidates. Each change fails if the run has begun again, or has ended, since it was read. */
export class CandidateRunStore {
  private readonly collection: Collection<CandidateRun>;

  constructor(database: Db) {
    this.collection = database.collection<CandidateRun>('candidate_runs');
  }

  /** All runs, or those of a model. */
  list(modelId?: string): Promise<CandidateRun[]> {
    const filter = modelId === undefined ? {} : { _id: idsOf(modelId) };
    return this.collection.find(filter).sort({ _id: 1 }).toArray();
  }

  /** The run of a version; undefined without one. */
  async find(modelId: string, version: string): Promise<CandidateRun | undefined> {
    return (await this.collection.findOne({ _id: versionId(modelId, version) })) ?? undefined;
  }

  /** The run of a model that is to go on. */
  async runningOf(modelId: string): Promise<CandidateRun | undefined> {
    return (await this.collection.findOne({ _id: idsOf(modelId), state: 'running' })) ?? undefined;
  }

  /**
   * Stores a run that begins.
   * @param former the run that it replaces
   * @returns false if another process was first
   */
  async begin(run: CandidateRun, former: RunKey | undefined): Promise<boolean> {
    if (former !== undefined) {
      const { _id, started_at } = former;
      const { modifiedCount } = await this.collection.replaceOne({ _id, started_at }, run, majority);
      return modifiedCount === 1;
    }
    try {
      await this.collection.insertOne(run, majority);
      return true;
    } catch (error) {
      if (error instanceof MongoServerError && error.code === duplicateKey) return false;
      throw error;
    }
  }

  /** @returns the run after it; undefined if it is no longer the one that was read */
  async setTotal(run: CandidateRun, total: number): Promise<CandidateRun | undefined> {
    return await this.change(run, { $set: { total } });
  }

  /** Moves the cursor. @returns the run after it; undefined if it is no longer the one that was read */
  async advance(
    run: CandidateRun,
    afterId: string,
    { rows, seen, refused }: RunCounts,
  ): Promise<CandidateRun | undefined> {
    return await this.change(run, { $set: { after_id: afterId }, $inc: { rows, seen, refused } });
  }

  /** Ends a running run. @param message why it failed; undefined when it is complete */
  async end(run: CandidateRun, at: Date, message?: string): Promise<void> {
    const state = message === undefined ? 'completed' : 'failed';
    await this.change(run, { $set: { state, ended_at: at, ...(message !== undefined && { message }) } });
  }

  /**
   * Stores a comparison of a completed run.
   * @returns false, without a change, if the run has begun again or another comparison was stored since it was read
   */
  async compare({ _id, started_at, comparison: former }: CandidateRun, comparison: StoredComparison): Promise<boolean> {
    const unchanged = { 'comparison.compared_at': former?.compared_at ?? { $exists: false } };
    const filter = { _id, started_at, state: 'completed' as const, ...unchanged };
    const { matchedCount } = await this.collection.updateOne(filter, { $set: { comparison } }, majority);
    return matchedCount > 0;
  }

  /** Whether a run is still the one that was read. */
  async isCurrent(run: CandidateRun): Promise<boolean> {
    return (await this.collection.findOne(sameRun(run), { projection: { _id: 1 } })) !== null;
  }

  /** Ends a run whose version is no candidate any longer. */
  async drop({ _id, started_at }: RunKey, at: Date): Promise<void> {
    await this.collection.updateOne({ _id, started_at }, { $set: { state: 'dropped', ended_at: at } }, majority);
  }

  async remove({ _id, started_at }: RunKey): Promise<void> {
    await this.collection.deleteOne({ _id, started_at });
  }

  private async change(run: CandidateRun, update: UpdateFilter<CandidateRun>): Promise<CandidateRun | undefined> {
    const options = { ...majority, returnDocument: 'after' } as const;
    return (await this.collection.findOneAndUpdate(sameRun(run), update, options)) ?? undefined;
  }
}

const sameRun = ({ _id, started_at, after_id }: CandidateRun) => ({
  _id,
  started_at,
  state: 'running' as const,
  after_id: after_id ?? { $exists: false },
});
