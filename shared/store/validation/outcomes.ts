import type { AnyBulkWriteOperation, ClientSession, Collection, Db, Document } from 'mongodb';
import { scoredAmong } from '../calls/scored-leads.js';
import { createClustered, withMongoTimeout } from '../connection/connect.js';

/** Whether and when a lead converted, as reported by its organisation. */
export interface Outcome {
  /** As it is stored: see `storedCrmId`. */
  readonly crmId: string;
  readonly converted: boolean;
  /** When it converted, or the time up to which it had not. */
  readonly at: Date;
  /**
   * Set if the report has no conversion date and `at` is only the time of the report: the date of another report
   * stays.
   */
  readonly isUndated?: true;
  /** Set if `at` corrects the date of the conversion, also to a later one. */
  readonly isCorrected?: true;
}

/** One document of `outcomes`: the latest report on one lead, but of several conversions the earliest. */
export interface StoredOutcome {
  /** `<organisation>:<crm_id>` */
  readonly _id: string;
  readonly org: string;
  readonly crm_id: string;
  readonly converted: boolean;
  readonly at: Date;
  /** When the report arrived, by the service's clock. */
  readonly received_at: Date;
  /** When the report last changed for grading, by the database's clock; a repeated report changes nothing. */
  readonly changed_at: Date;
  /** The report that this one replaced; absent for the first. */
  readonly previous?: Pick<StoredOutcome, 'converted' | 'at' | 'changed_at'>;
}

/** A changed outcome, with the report that a grade may have counted before. */
export type ChangedOutcome = Pick<
  StoredOutcome,
  'crm_id' | 'converted' | 'at' | 'received_at' | 'changed_at' | 'previous'
>;

const timeoutMs = 10_000;
/** Reports in one of several writes; MongoDB takes some 10 ms for them. */
export const outcomesPerWrite = 100;

/** The `_id` of a lead's outcome. */
export const outcomeId = (organisationId: string, crmId: string): string => `${organisationId}:${crmId}`;

/** Selects the outcome of a lead, by `_id` and the shard key. */
const ofLead = (org: string, crm_id: string) => ({ _id: outcomeId(org, crm_id), org, crm_id });

/** MongoDB may take an index of the organisation otherwise. */
const byId = { hint: { _id: 1 } } as const;

/** The shard key. The clustered key alone would not do for a list of leads: MongoDB reads all documents in between. */
export const outcomeIndex = { org: 1, crm_id: 1 } as const;

const changeIndex = { org: 1, changed_at: 1 } as const;

/** The outcomes of leads. */
export class OutcomeStore {
  private readonly collection: Collection<StoredOutcome>;

  constructor(private readonly database: Db) {
    this.collection = database.collection<StoredOutcome>('outcomes');
  }

  /** Creates the collection, clustered by `_id`, and the grader's indexes: by time of change, and by lead. */
  async prepare(): Promise<void> {
    const exists = await this.database.listCollections({ name: 'outcomes' }).hasNext();
    if (!exists) await createClustered(this.database, 'outcomes');
    await this.collection.createIndex(changeIndex);
    await this.collection.createIndex(outcomeIndex);
  }

  /** The outcome of a lead. @param crmId as it is stored */
  async find(organisationId: string, crmId: string): Promise<StoredOutcome | undefined> {
    return (await this.collection.findOne(ofLead(organisationId, crmId), byId)) ?? undefined;
  }

  /**
   * Stores reports on leads. The last of several reports on one lead wins, but of several conversions the earliest. A
   * report that the lead has not converted ends them. Idempotent.
   * @param outcomes.receivedAt by the service's clock
   * @param outcomes.perWrite reports of one write; without it, all are one write
   * @returns `added`: leads that had no outcome before; `changed`: those, and the leads whose outcome is another now
   * @throws the driver's error, or MongoTimeout; some reports may have been written, and all may be sent again
   */
  async record(outcomes: {
    readonly organisationId: string;
    readonly outcomes: readonly Outcome[];
    readonly receivedAt: Date;
    readonly perWrite?: number;
  }): Promise<{ readonly added: number; readonly changed: number }> {
    const { organisationId, receivedAt } = outcomes;
    const latest = lastReports(outcomes.outcomes);
    const { perWrite = latest.length } = outcomes;
    let [added, changed] = [0, 0];
    for (let from = 0; from < latest.length; from += perWrite) {
      const some = latest.slice(from, from + perWrite);
      const writes = some.map((outcome) => replacement(organisationId, outcome, receivedAt));
      const { upsertedCount, modifiedCount } = await withMongoTimeout(timeoutMs, () =>
        this.collection.bulkWrite(writes, { ordered: false, writeConcern: { w: 'majority' } }),
      );
      added += upsertedCount;
      changed += upsertedCount + modifiedCount;
    }
    return { added, changed };
  }

  /** Whether a lead has an outcome. */
  async knows(organisationId: string, crmId: string): Promise<boolean> {
    return (await this.collection.findOne(ofLead(organisationId, crmId), byId)) !== null;
  }

  /**
   * Removes the outcome of a lead.
   * @param upTo of a report that arrived by then; of any report without it
   * @returns whether there was one
   */
  async erase(organisationId: string, crmId: string, upTo?: Date): Promise<boolean> {
    const erased = await this.collection.deleteOne(
      { ...ofLead(organisationId, crmId), ...(upTo === undefined ? {} : { received_at: { $lte: upTo } }) },
      { ...byId, writeConcern: { w: 'majority' } },
    );
    return erased.deletedCount > 0;
  }

  /**
   * The outcomes that have changed since an instant of the database's clock.
   * @returns undefined if there are more than `most`
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

  /**
   * Number of an organisation's leads with an outcome; of these leads only, if given. Reads an index alone.
   * @throws the driver's error, or MongoTimeout
   */
  count(organisationId: string, crmIds?: Iterable<string>): Promise<number> {
    const among = crmIds === undefined ? {} : { crm_id: { $in: [...crmIds] } };
    return withMongoTimeout(timeoutMs, (signal) =>
      this.collection.countDocuments({ org: organisationId, ...among }, { hint: outcomeIndex, signal }),
    );
  }

  /** The ids of the leads whose outcomes have changed last. */
  async latest(organisationId: string, most: number): Promise<string[]> {
    const found = this.collection.find({ org: organisationId }, { projection: { crm_id: 1 }, hint: changeIndex });
    return (await found.sort({ changed_at: -1 }).limit(most).toArray()).map(({ crm_id }) => crm_id);
  }

  /** Some outcomes of an organisation, in the order of their leads. */
  async after(org: string, crmId: string, most: number): Promise<Pick<StoredOutcome, 'crm_id' | 'received_at'>[]> {
    const found = this.collection.find({ org, crm_id: { $gt: crmId } }, { projection: { crm_id: 1, received_at: 1 } });
    return await found.sort(outcomeIndex).limit(most).toArray();
  }

  /** The next organisation with outcomes, in the order of ids. */
  async organisationAfter(organisationId: string): Promise<string | undefined> {
    const after = { org: { $gt: organisationId } };
    return (await this.collection.findOne(after, { projection: { org: 1 }, sort: outcomeIndex }))?.org;
  }

  /**
   * Removes the outcomes of leads that have no prediction.
   * @param leads of one organisation
   * @param before removes only reports that arrived before
   * @returns the number of removed outcomes
   */
  async removeUnscored(organisationId: string, leads: readonly string[], before: Date): Promise<number> {
    if (leads.length === 0) return 0;
    const scored = await scoredAmong(this.database, { organisationId, crmIds: leads });
    const crmIds = leads.filter((crmId) => !scored.has(crmId));
    const old = { org: organisationId, crm_id: { $in: crmIds }, received_at: { $lt: before } };
    const { deletedCount } = await this.collection.deleteMany(old, { hint: outcomeIndex });
    return deletedCount;
  }
}

/** One report on each lead, by the rule of `record`. */
function lastReports(outcomes: readonly Outcome[]): Outcome[] {
  const byLead = new Map<string, Outcome>();
  for (const outcome of outcomes) {
    const before = byLead.get(outcome.crmId);
    const { converted, at, isUndated, isCorrected } = outcome;
    const isAgain = before?.converted === true && converted && isCorrected !== true;
    if (!isAgain || (isUndated !== true && at < before.at)) byLead.set(outcome.crmId, outcome);
  }
  return [...byLead.values()];
}

/** An upsert that changes nothing if the report only repeats the stored one, or says that its lead converted again. */
function replacement(
  organisationId: string,
  { crmId, converted, at, isUndated, isCorrected }: Outcome,
  receivedAt: Date,
): AnyBulkWriteOperation<StoredOutcome> {
  // A grade depends on the date of a conversion, but not on the date of a "not converted". A conversion keeps its first
  // date, and one without a date the time of its first report. Otherwise a second conversion, or each import of the
  // same list, would move it later, and in the end out of the horizon.
  const hasDate = converted && isUndated !== true;
  const isRepeated: Document = {
    $and: [
      { $eq: ['$converted', converted] },
      ...(hasDate ? [{ [isCorrected === true ? '$eq' : '$lte']: ['$at', at] }] : []),
    ],
  };
  const kept = (field: string, otherwise: unknown): Document => ({
    $cond: [isRepeated, `$${field}`, otherwise],
  });
  const before = { converted: '$converted', at: '$at', changed_at: '$changed_at' };
  const isFirst = { $eq: [{ $type: '$converted' }, 'missing'] };
  return {
    updateOne: {
      filter: ofLead(organisationId, crmId),
      ...byId,
      update: [
        {
          $set: {
            received_at: kept('received_at', receivedAt),
            changed_at: kept('changed_at', '$$NOW'),
            at: kept('at', at),
            converted,
            previous: {
              $cond: [isRepeated, { $ifNull: ['$previous', '$$REMOVE'] }, { $cond: [isFirst, '$$REMOVE', before] }],
            },
          },
        },
      ],
      upsert: true,
    },
  };
}
