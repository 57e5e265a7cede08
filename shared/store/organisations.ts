import type { Collection, Db } from 'mongodb';
import { newId } from '../identifiers.js';
import type { PlanName } from '../plans.js';

export type DeployPolicy = 'block' | 'warn';

/** One document of `orgs`. */
export interface Organisation {
  readonly _id: string;
  readonly name: string;
  readonly plan: PlanName;
  /** Included records a month; absent: the plan's. */
  readonly limit?: number;
  /** What happens to models that have not passed validation. */
  readonly policy: DeployPolicy;
  readonly trial_ends_at?: Date;
  readonly created_at: Date;
}

export type OrganisationFields = Omit<Organisation, '_id' | 'created_at'>;

/** The organisations: their plan, limits, policy and trial. */
export class OrganisationStore {
  private readonly collection: Collection<Organisation>;

  constructor(database: Db) {
    this.collection = database.collection<Organisation>('orgs');
  }

  /** Creates an organisation and gives it back with its new id. */
  async create(fields: OrganisationFields, now: Date): Promise<Organisation> {
    const organisation: Organisation = { _id: newId('org'), ...fields, created_at: now };
    await this.collection.insertOne(organisation);
    return organisation;
  }

  /** Sets some fields and removes others; undefined when there is no such organisation. */
  async update(
    organisationId: string,
    fields: Partial<OrganisationFields>,
    absent: readonly 'limit'[] = [],
  ): Promise<Organisation | undefined> {
    const removed = Object.fromEntries(absent.map((field) => [field, 1 as const]));
    const updated = await this.collection.findOneAndUpdate(
      { _id: organisationId },
      // MongoDB refuses an operator without fields.
      {
        ...(Object.keys(fields).length === 0 ? {} : { $set: fields }),
        ...(absent.length === 0 ? {} : { $unset: removed }),
      },
      { returnDocument: 'after', ignoreUndefined: true },
    );
    return updated ?? undefined;
  }

  async find(organisationId: string): Promise<Organisation | undefined> {
    return (await this.collection.findOne({ _id: organisationId })) ?? undefined;
  }

  /** All of them, oldest first. */
  list(): Promise<Organisation[]> {
    return this.collection.find().sort({ created_at: 1, _id: 1 }).toArray();
  }
}
