import type { ClientSession, Collection, Db, Filter, UpdateFilter } from 'mongodb';
import type { ModelFamily } from '../../bundle/manifest/manifest.js';
import { changeOfOrganisation, logged } from '../connection/change-log.js';
import { inSession } from '../connection/transaction.js';

/** An administrator's permission to use a model version that has not passed validation. */
export interface Override {
  /** The override applies to this version only. */
  readonly version: string;
  readonly by: string;
  readonly at: Date;
  readonly reason: string;
}

/** A stored version that may serve later. */
export interface Candidate {
  readonly version: string;
  readonly since: Date;
  readonly by: string;
}

/** The version that scored calls before the current one, with the override that it had. A rollback restores both. */
export interface PreviousVersion {
  readonly version: string;
  readonly override?: Override;
}

/** The jobs that score the stored leads of a model again, without a person: see `docs/models.md`. */
export interface Rescoring {
  /** `promotion`: once another version scores calls. `nightly`: at the begin of each UTC day. */
  readonly when: 'promotion' | 'nightly';
  /** Id of the API key under which the jobs count. */
  readonly key: string;
  /** Leads of one job. */
  readonly at_most: number;
  readonly by: string;
  readonly since: Date;
  /** The version, or the UTC day, for which nothing is left to do. */
  readonly done_for: string;
  /** The last job. Absent before the first one. */
  readonly job?: string;
  /** Set when the key no longer allows it: no job follows. */
  readonly ended?: { readonly at: Date; readonly reason: string };
}

/** One document of `models`. */
export interface Model {
  /** `mdl_…` */
  readonly _id: string;
  readonly organisation_id: string;
  readonly name: string;
  readonly family: ModelFamily;
  readonly live_api: boolean;
  /** The version that scores calls. */
  readonly version: string;
  readonly override?: Override;
  readonly candidate?: Candidate;
  /** Absent if no other version scored calls before, and after a rollback. */
  readonly previous?: PreviousVersion;
  readonly rescore?: Rescoring;
  readonly created_at: Date;
  /** Callers cannot use a deleted model; its predictions stay. */
  readonly deleted_at?: Date;
}

/** Fields of a model that may be set. */
export type ModelFields = Partial<
  Pick<
    Model,
    'name' | 'family' | 'live_api' | 'version' | 'override' | 'candidate' | 'previous' | 'rescore' | 'deleted_at'
  >
>;

/** Fields of a model that may be removed. */
export type RemovableField = 'override' | 'candidate' | 'previous' | 'rescore';

const hasCandidate = { 'candidate.since': { $exists: true } };
const hasRescoring = { 'rescore.since': { $exists: true } };

/** The override of the model's current version. One that was given for another version does not apply. */
export const overrideOf = ({ override, version }: Model): Override | undefined =>
  override?.version === version ? override : undefined;

/** The models of all organisations. Their versions are in `model_versions`. */
export class ModelStore {
  private readonly collection: Collection<Model>;

  /** @param session a transaction in which all calls take part */
  constructor(
    private readonly database: Db,
    private readonly session?: ClientSession,
  ) {
    this.collection = database.collection<Model>('models');
  }

  async prepare(): Promise<void> {
    await this.collection.createIndex({ organisation_id: 1, created_at: 1 });
    await this.collection.createIndex({ 'candidate.since': 1 }, { partialFilterExpression: hasCandidate });
  }

  /** The index that a release with `rescore` needs. */
  async prepareRescoring(): Promise<void> {
    await this.collection.createIndex({ 'rescore.since': 1 }, { partialFilterExpression: hasRescoring });
  }

  async create(model: Model): Promise<void> {
    const write = async (session: ClientSession) => {
      const result = await this.collection.insertOne(model, { session });
      return { result, change: changeOfOrganisation(model.organisation_id) };
    };
    await logged(this.database, write, this.session);
  }

  /** Finds a model unless it is deleted. */
  async find(modelId: string): Promise<Model | undefined> {
    const filter = { _id: modelId, deleted_at: { $exists: false } };
    return (await this.collection.findOne(filter, inSession(this.session))) ?? undefined;
  }

  /** The models of an organisation without deleted ones, oldest first. */
  list(organisationId: string): Promise<Model[]> {
    const ofOrganisation = { organisation_id: organisationId, deleted_at: { $exists: false } };
    return this.collection.find(ofOrganisation).sort({ created_at: 1, _id: 1 }).toArray();
  }

  /** The models of all organisations that have a candidate, without deleted ones. */
  withCandidates(): Promise<Model[]> {
    return this.collection.find({ ...hasCandidate, deleted_at: { $exists: false } }).toArray();
  }

  /** The models of all organisations whose stored leads the service scores again, without deleted ones. */
  withRescoring(): Promise<Model[]> {
    const isOn = { ...hasRescoring, 'rescore.ended': { $exists: false }, deleted_at: { $exists: false } };
    return this.collection.find(isOn).toArray();
  }

  /** Notes what was done for a model whose stored leads are scored again, unless a person has changed it since. */
  async noteRescoring(
    { _id, since }: { readonly _id: string; readonly since: Date },
    noted: Partial<Pick<Rescoring, 'done_for' | 'job' | 'ended'>>,
  ): Promise<void> {
    const $set = Object.fromEntries(Object.entries(noted).map(([name, value]) => [`rescore.${name}`, value]));
    await this.change({ _id, 'rescore.since': since, deleted_at: { $exists: false } }, { $set });
  }

  /** The versions that score calls, by the ids of some models. Deleted models have none. */
  async versionsOf(modelIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (modelIds.length === 0) return new Map();
    const filter = { _id: { $in: [...modelIds] }, deleted_at: { $exists: false } };
    const found = await this.collection.find(filter, { projection: { version: 1 } }).toArray();
    return new Map(found.map(({ _id, version }) => [_id, version]));
  }

  /** Sets and removes some fields of a model; undefined if it does not exist or is deleted. */
  async update(
    modelId: string,
    fields: ModelFields,
    removed: readonly RemovableField[] = [],
  ): Promise<Model | undefined> {
    const filter = { _id: modelId, deleted_at: { $exists: false } };
    return await this.change(filter, {
      $set: fields,
      ...(removed.length > 0 && { $unset: Object.fromEntries(removed.map((field) => [field, true])) }),
    });
  }

  private change(filter: Filter<Model>, update: UpdateFilter<Model>): Promise<Model | undefined> {
    const write = async (session: ClientSession) => {
      const options = { returnDocument: 'after', session } as const;
      const result = (await this.collection.findOneAndUpdate(filter, update, options)) ?? undefined;
      return { result, change: changeOfOrganisation(result?.organisation_id) };
    };
    return logged(this.database, write, this.session);
  }
}
