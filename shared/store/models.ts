import type { Collection, Db } from 'mongodb';
import type { ModelFamily } from '../bundle/manifest.js';

/** An administrator's word that a model may be used although it has not passed validation. */
export interface Override {
  readonly by: string;
  readonly at: Date;
  readonly reason: string;
}

/** One document of `models`. */
export interface Model {
  /** `mdl_…` */
  readonly _id: string;
  readonly organisation_id: string;
  readonly name: string;
  readonly family: ModelFamily;
  readonly live_api: boolean;
  /** The version that scores. */
  readonly version: string;
  readonly override?: Override;
  readonly created_at: Date;
  /** A deleted model is unknown to callers; its predictions still match records. */
  readonly deleted_at?: Date;
}

/** The models of all organisations; their files are in `model_versions`. */
export class ModelStore {
  private readonly collection: Collection<Model>;

  constructor(database: Db) {
    this.collection = database.collection<Model>('models');
  }

  async prepare(): Promise<void> {
    await this.collection.createIndex({ organisation_id: 1, created_at: 1 });
  }

  async create(model: Model): Promise<void> {
    await this.collection.insertOne(model);
  }

  /** A model that has not been deleted. */
  async find(modelId: string): Promise<Model | undefined> {
    return (await this.collection.findOne({ _id: modelId, deleted_at: { $exists: false } })) ?? undefined;
  }

  /** An organisation's models, deleted ones too, oldest first. */
  listWithDeleted(organisationId: string): Promise<Model[]> {
    return this.collection
      .find({ organisation_id: organisationId })
      .sort({ created_at: 1, _id: 1 })
      .toArray();
  }

  /** An organisation's models, oldest first. */
  async list(organisationId: string): Promise<Model[]> {
    return (await this.listWithDeleted(organisationId)).filter((model) => model.deleted_at === undefined);
  }

  /** Sets some fields of a model that has not been deleted; undefined when there is none. */
  async update(
    modelId: string,
    fields: Partial<Pick<Model, 'name' | 'family' | 'live_api' | 'version' | 'override' | 'deleted_at'>>,
  ): Promise<Model | undefined> {
    const updated = await this.collection.findOneAndUpdate(
      { _id: modelId, deleted_at: { $exists: false } },
      { $set: fields },
      { returnDocument: 'after' },
    );
    return updated ?? undefined;
  }

  /** Takes an override back; undefined when there is no such model. */
  async removeOverride(modelId: string): Promise<Model | undefined> {
    const updated = await this.collection.findOneAndUpdate(
      { _id: modelId, deleted_at: { $exists: false } },
      { $unset: { override: true } },
      { returnDocument: 'after' },
    );
    return updated ?? undefined;
  }
}
