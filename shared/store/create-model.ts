import type { Db } from 'mongodb';
import type { CheckedBundle } from '../bundle/check-bundle.js';
import { newId } from '../identifiers.js';
import { deleteVersions } from './model-versions.js';
import { type Model, ModelStore } from './models.js';
import { storeVersion } from './store-version.js';

export interface NewModel {
  readonly organisationId: string;
  /** Its manifest gives name, family and version. */
  readonly bundle: CheckedBundle;
  readonly now: Date;
  /** `mdl_…`; a new id by default. */
  readonly modelId?: string;
  /** True by default. */
  readonly liveApi?: boolean;
}

/**
 * Stores a bundle as a new model of an organisation and activates its version.
 * @throws the driver's error, or MongoSilent; removes what it stored first, as far as MongoDB still answers
 */
export async function createModel(
  database: Db,
  { organisationId, bundle, now, modelId = newId('mdl'), liveApi = true }: NewModel,
): Promise<Model> {
  const { name, family, version } = bundle.manifest;
  const model: Model = {
    _id: modelId,
    organisation_id: organisationId,
    name,
    family,
    live_api: liveApi,
    version,
    created_at: now,
  };
  // The version first, so that an existing model always has its version.
  await storeVersion({ database, organisationId, modelId, bundle, now });
  try {
    await new ModelStore(database).create(model);
  } catch (error) {
    await deleteVersions(database, modelId);
    throw error;
  }
  return model;
}
