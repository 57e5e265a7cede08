import type { Middleware } from 'koa';
import type { Feature } from '../../shared/bundle/manifest/manifest.js';
import type { Verdict } from '../../shared/contract/verdict.js';
import type { Model } from '../../shared/store/models/models.js';
import type { ModelVerdicts } from '../../shared/store/validation/model-verdicts.js';
import { findModel } from '../admission/admission.js';
import { pathParameter, type ReadingDeps, readingRoute } from './reading.js';

/** `GET /v1/models`: lists the organisation's models. */
export function modelsRoute(deps: ReadingDeps, verdicts: ModelVerdicts): Middleware {
  return readingRoute(deps, async (_context, { models }) => ({
    models: await Promise.all(models.map(async (model) => summary(model, await verdicts.of(model)))),
  }));
}

/** `GET /v1/models/{model_id}`: one model with its fields, and its verdict with the gates. */
export function modelRoute(deps: ReadingDeps, verdicts: ModelVerdicts): Middleware {
  return readingRoute(deps, async (context, reader) => {
    const modelId = pathParameter(context, 'model_id');
    const workspace = await deps.workspaces.workspaceFor(reader.organisation._id, modelId);
    const model = findModel(workspace ?? reader, modelId);
    const compiled = await deps.workspaces.manifest(model._id, model.version);
    if (compiled === undefined) throw new Error(`version ${model.version} of ${model._id} is not stored`);
    const { manifest, explainMethod } = compiled;
    return {
      ...summary(model, await verdicts.detailOf(model)),
      fields: manifest.features.map(fieldOf),
      ...(manifest.recency === undefined ? {} : { recency: manifest.recency }),
      explain: { method: explainMethod },
    };
  });
}

const summary = (model: Model, validation: Verdict): Record<string, unknown> => ({
  model_id: model._id,
  name: model.name,
  family: model.family,
  version: model.version,
  live_api: model.live_api,
  validation,
});

const fieldOf = (feature: Feature): Record<string, unknown> => ({
  field: feature.field,
  label: feature.label,
  type: feature.type,
  required: feature.required ?? false,
  ...(feature.type === 'date' && feature.date_order !== undefined ? { date_order: feature.date_order } : {}),
  ...('categories' in feature ? { categories: feature.categories } : {}),
  ...(feature.aliases === undefined ? {} : { aliases: feature.aliases }),
});
