import type { Collection, Db } from 'mongodb';
import type { FailingGate, ValidationState } from '../verdict.js';
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
}

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
}
