import type { ClientSession, Collection, Db } from 'mongodb';
import { newId } from '../../contract/identifiers.js';
import type { PlanName } from '../../contract/plans.js';
import { changeOfOrganisation, logged } from '../connection/change-log.js';
import { inSession } from '../connection/transaction.js';

export type DeployPolicy = 'block' | 'warn';

/** An operator has stopped the scoring of an organisation. */
interface Suspension {
  readonly at: Date;
  /** The person who gave the reason. */
  readonly by: string;
  readonly reason: string;
}

/** An operator has ordered the deletion of an organisation. */
interface OrderedDeletion {
  readonly requested_at: Date;
  readonly by: string;
  /** Its data goes from this instant on. */
  readonly due_at: Date;
}

/** One document of `orgs`. */
export interface Organisation {
  readonly _id: string;
  readonly name: string;
  readonly plan: PlanName;
  /** Included records a month; the plan's limit if absent. */
  readonly limit?: number;
  /** Whether models that have not passed validation are blocked. */
  readonly policy: DeployPolicy;
  readonly trial_ends_at?: Date;
  /** Values of a CRM that mean a won lead, besides the usual words; absent without any. */
  readonly won_values?: readonly string[];
  /** Values that mean a lead that has not converted. */
  readonly lost_values?: readonly string[];
  /** Absent: the organisation may score. */
  readonly suspended?: Suspension;
  /** Present from the order of its deletion until its data is gone. No call and no person reaches it then. */
  readonly deletion?: OrderedDeletion;
  readonly created_at: Date;
}

export type OrganisationFields = Omit<Organisation, '_id' | 'created_at'>;

export class OrganisationStore {
  private readonly collection: Collection<Organisation>;

  /** @param session a transaction in which all calls take part */
  constructor(
    private readonly database: Db,
    private readonly session?: ClientSession,
  ) {
    this.collection = database.collection<Organisation>('orgs');
  }

  async create(fields: OrganisationFields, now: Date): Promise<Organisation> {
    const organisation: Organisation = { _id: newId('org'), ...fields, created_at: now };
    await this.collection.insertOne(organisation, inSession(this.session));
    return organisation;
  }

  /** Sets some fields and removes others; undefined if the organisation does not exist. */
  async update(
    organisationId: string,
    fields: Partial<OrganisationFields>,
    absent: readonly ('limit' | 'won_values' | 'lost_values' | 'suspended' | 'deletion')[] = [],
  ): Promise<Organisation | undefined> {
    const removed = Object.fromEntries(absent.map((field) => [field, 1 as const]));
    // MongoDB refuses an operator without fields.
    const update = {
      ...(Object.keys(fields).length === 0 ? {} : { $set: fields }),
      ...(absent.length === 0 ? {} : { $unset: removed }),
    };
    const write = async (session: ClientSession) => {
      const options = { returnDocument: 'after', ignoreUndefined: true, session } as const;
      const result = (await this.collection.findOneAndUpdate({ _id: organisationId }, update, options)) ?? undefined;
      return { result, change: changeOfOrganisation(result?._id) };
    };
    return await logged(this.database, write, this.session);
  }

  /** Removes an organisation whose data is gone. No cache needs to hear it: its callers are refused already. */
  async remove(organisationId: string): Promise<void> {
    await this.collection.deleteOne({ _id: organisationId }, { writeConcern: { w: 'majority' } });
  }

  async find(organisationId: string): Promise<Organisation | undefined> {
    return (await this.collection.findOne({ _id: organisationId }, inSession(this.session))) ?? undefined;
  }

  /** The organisations with these ids, in any order. */
  findAll(organisationIds: readonly string[]): Promise<Organisation[]> {
    return this.collection.find({ _id: { $in: [...organisationIds] } }).toArray();
  }

  /** All organisations, oldest first. */
  list(): Promise<Organisation[]> {
    return this.collection.find().sort({ created_at: 1, _id: 1 }).toArray();
  }

  /** Some organisations in the order of their ids, from after one on. */
  page(after: string, most: number): Promise<Organisation[]> {
    return this.collection
      .find({ _id: { $gt: after } })
      .sort({ _id: 1 })
      .limit(most)
      .toArray();
  }
}
