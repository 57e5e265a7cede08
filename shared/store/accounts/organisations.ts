import type { Collection, Db } from 'mongodb';
import { newId } from '../../contract/identifiers.js';
import type { PlanName } from '../../contract/plans.js';

export type DeployPolicy = 'block' | 'warn';

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
  readonly created_at: Date;
}

export type OrganisationFields = Omit<Organisation, '_id' | 'created_at'>;

export class OrganisationStore {
  private readonly collection: Collection<Organisation>;

  constructor(database: Db) {
    this.collection = database.collection<Organisation>('orgs');
  }

  async create(fields: OrganisationFields, now: Date): Promise<Organisation> {
    const organisation: Organisation = { _id: newId('org'), ...fields, created_at: now };
    await this.collection.insertOne(organisation);
    return organisation;
  }

  /** Sets some fields and removes others; undefined if the organisation does not exist. */
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

  /** All organisations, oldest first. */
  list(): Promise<Organisation[]> {
    return this.collection.find().sort({ created_at: 1, _id: 1 }).toArray();
  }
}
