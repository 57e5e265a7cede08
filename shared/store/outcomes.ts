import type { AnyBulkWriteOperation, ClientSession, Collection, Db, Document } from 'mongodb';
import { inTime } from './in-time.js';

/** What became of a lead, as its organisation says: whether it converted, and when. */
export interface Outcome {
  readonly crmId: string;
  readonly converted: boolean;
  /** When it converted, or as of when it had not. */
  readonly at: Date;
  /** Set where nobody has said when it converted, and `at` is only when this was told: an earlier word knows better. */
  readonly isUndated?: true;
}

/**
 * One document of `outcomes`: the newest word on one lead. There is one outcome, conversion, so the lead names it; a
 * correction takes the place of what was said before.
 */
export interface StoredOutcome {
  /** `<organisation>:<crm_id>` */
  readonly _id: string;
  readonly org: string;
  readonly crm_id: string;
  readonly converted: boolean;
  readonly at: Date;
  /** When the word came, by the service's clock. */
  readonly received_at: Date;
  /** When what a grade goes by changed last, by the database's clock; a word that only repeats changes nothing. */
  readonly changed_at: Date;
  /** The word in whose place this one came; absent for a first one. */
  readonly previous?: Pick<StoredOutcome, 'converted' | 'at' | 'changed_at'>;
}

/** An outcome that has changed, with what a grade may have counted before. */
export type ChangedOutcome = Pick<
  StoredOutcome,
  'crm_id' | 'converted' | 'at' | 'received_at' | 'changed_at' | 'previous'
>;

const writeTimeoutMs = 10_000;
const alreadyThere = 48;

/** The `_id` of a lead's outcome. */
export const outcomeId = (organisationId: string, crmId: string): string => `${organisationId}:${crmId}`;

/** What is known of the leads' outcomes. */
export class OutcomeStore {
  private readonly collection: Collection<StoredOutcome>;

  constructor(private readonly database: Db) {
    this.collection = database.collection<StoredOutcome>('outcomes');
  }

  /**
   * Creates the collection, clustered by `_id`, and the indexes by which the grader finds what has changed and what
   * became of some leads: of a list of clustered keys MongoDB reads all that lies between the first and the last.
   */
  async prepare(): Promise<void> {
    const exists = await this.database.listCollections({ name: 'outcomes' }).hasNext();
    if (!exists) await createClustered(this.database);
    await this.collection.createIndex({ org: 1, changed_at: 1 });
    await this.collection.createIndex({ org: 1, crm_id: 1 });
  }

  /**
   * Takes down what was said of some leads; of several words on one lead the last wins. Doing it again changes nothing.
   * @param outcomes.receivedAt by the service's clock
   * @throws what MongoDB says; some may then have been written, and all may be sent again
   */
  async record(outcomes: {
    readonly organisationId: string;
    readonly outcomes: readonly Outcome[];
    readonly receivedAt: Date;
  }): Promise<void> {
    const { organisationId, receivedAt } = outcomes;
    const newest = new Map(outcomes.outcomes.map((outcome) => [outcome.crmId, outcome]));
    if (newest.size === 0) return;
    const writes = [...newest.values()].map((outcome) => replacement(organisationId, outcome, receivedAt));
    await inTime(writeTimeoutMs, () =>
      this.collection.bulkWrite(writes, { ordered: false, writeConcern: { w: 'majority' } }),
    );
  }

  /**
   * Forgets what became of a lead.
   * @returns whether anything was known
   */
  async erase(organisationId: string, crmId: string): Promise<boolean> {
    const erased = await this.collection.deleteOne(
      { _id: outcomeId(organisationId, crmId) },
      { writeConcern: { w: 'majority' } },
    );
    return erased.deletedCount > 0;
  }

  /**
   * The outcomes that have changed since an instant of the database's clock.
   * @returns undefined when there are more than `most`
   */
  async changedSince(
    organisationId: string,
    since: Date,
    { most, session }: { readonly most: number; readonly session: ClientSession },
  ): Promise<ChangedOutcome[] | undefined> {
    const found = await this.collection
      .find({ org: organisationId, changed_at: { $gte: since } }, { limit: most + 1, session })
      .toArray();
    return found.length > most ? undefined : found;
  }

  /** Leads of an organisation whose outcome is known. */
  count(organisationId: string): Promise<number> {
    return this.collection.countDocuments({ _id: ofOrganisation(organisationId) });
  }
}

/** All ids of an organisation: `;` is the character after `:`. */
const ofOrganisation = (organisationId: string) => ({
  $gte: `${organisationId}:`,
  $lt: `${organisationId};`,
});

/** An upsert that MongoDB recognises as changing nothing when the word was only repeated. */
function replacement(
  organisationId: string,
  { crmId, converted, at, isUndated }: Outcome,
  receivedAt: Date,
): AnyBulkWriteOperation<StoredOutcome> {
  // When a lead had not converted makes no difference to a grade; when it did, does. A conversion without a date was
  // when it was first told: else each import of the same list would move it on, and out of the horizon in the end.
  const isDateTold = converted && isUndated !== true;
  const isRepeated: Document = {
    $and: [{ $eq: ['$converted', converted] }, ...(isDateTold ? [{ $eq: ['$at', at] }] : [])],
  };
  const kept = (field: string, otherwise: unknown): Document => ({
    $cond: [isRepeated, `$${field}`, otherwise],
  });
  const before = { converted: '$converted', at: '$at', changed_at: '$changed_at' };
  const isFirst = { $eq: [{ $type: '$converted' }, 'missing'] };
  return {
    updateOne: {
      filter: { _id: outcomeId(organisationId, crmId) },
      update: [
        {
          $set: {
            org: organisationId,
            crm_id: { $literal: crmId },
            received_at: kept('received_at', receivedAt),
            changed_at: kept('changed_at', '$$NOW'),
            at: kept('at', at),
            converted,
            previous: {
              $cond: [
                isRepeated,
                { $ifNull: ['$previous', '$$REMOVE'] },
                { $cond: [isFirst, '$$REMOVE', before] },
              ],
            },
          },
        },
      ],
      upsert: true,
    },
  };
}

async function createClustered(database: Db): Promise<void> {
  try {
    await database.createCollection('outcomes', { clusteredIndex: { key: { _id: 1 }, unique: true } });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === alreadyThere)) throw error;
  }
}
