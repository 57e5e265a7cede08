import type { Db } from 'mongodb';
import type { CheckedBundle } from '../bundle/check-bundle.js';
import { newId } from '../identifiers.js';
import { deleteVersions } from './model-versions.js';
import { type Model, ModelStore } from './models.js';
import { storeVersion } from './store-version.js';

export interface NewModel {
  readonly organisationId: string;
  /** A checked one; its manifest says name, family and version. */
  readonly bundle: CheckedBundle;
  readonly now: Date;
  /** `mdl_…`; a new one unless given. */
  readonly modelId?: string;
  /** On unless told otherwise. */
  readonly liveApi?: boolean;
}

/**
 * Stores a bundle as a new model of an organisation, which scores with it.
 * @throws what the driver throws; nothing is left then, unless it does not take that back either
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
  // The version first: a model that is there always has the version that it scores with.
  await storeVersion({ database, organisationId, modelId, bundle, now });
  try {
    await new ModelStore(database).create(model);
  } catch (error) {
    await deleteVersions(database, modelId);
    throw error;
  }
  return model;
}
