import type { Middleware } from 'koa';
import type { Feature } from '../../shared/bundle/manifest.js';
import type { Model } from '../../shared/store/models.js';
import { findModel } from '../admission.js';
import type { ExplainMethods } from '../explain-methods.js';
import type { Verdicts } from '../verdicts.js';
import { pathParameter, type ReadingRooms, readingRoute } from './reading.js';

/** `GET /v1/models`: the organisation's models. */
export function modelsRoute(rooms: ReadingRooms, verdicts: Verdicts): Middleware {
  return readingRoute(rooms, async (_context, { models }) => ({
    models: await Promise.all(
      models.filter((model) => model.deleted_at === undefined).map((model) => summary(model, verdicts)),
    ),
  }));
}

/** `GET /v1/models/{model_id}`: one model with its fields. */
export function modelRoute(
  rooms: ReadingRooms,
  verdicts: Verdicts,
  explainMethods: ExplainMethods,
): Middleware {
  return readingRoute(rooms, async (context, workspace) => {
    const model = findModel(workspace, pathParameter(context, 'model_id'));
    const compiled = await rooms.directory.manifest(model._id, model.version);
    if (compiled === undefined) throw new Error(`version ${model.version} of ${model._id} is not stored`);
    const { manifest, knownFields } = compiled;
    const scored = { id: model._id, version: model.version, knownFields, otherModelIds: [] };
    return {
      ...(await summary(model, verdicts)),
      fields: manifest.features.map(fieldOf),
      ...(manifest.recency === undefined ? {} : { recency: manifest.recency }),
      explain: { method: await explainMethods.of(model.organisation_id, scored, manifest) },
    };
  });
}

const summary = async (model: Model, verdicts: Verdicts): Promise<Record<string, unknown>> => ({
  model_id: model._id,
  name: model.name,
  family: model.family,
  version: model.version,
  live_api: model.live_api,
  validation: await verdicts.of(model),
});

const fieldOf = (feature: Feature): Record<string, unknown> => ({
  field: feature.field,
  label: feature.label,
  type: feature.type,
  required: feature.required ?? false,
  ...('categories' in feature ? { categories: feature.categories } : {}),
  ...(feature.aliases === undefined ? {} : { aliases: feature.aliases }),
});
