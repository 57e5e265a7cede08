import type { Middleware } from 'koa';
import { ApiError } from '../../shared/contract/errors.js';
import { maxDaysOf, readCoverage } from '../../shared/store/models/coverage.js';
import type { FieldDayStore } from '../../shared/store/models/field-days.js';
import { findModel } from '../admission/admission.js';
import { coverageDaysSchema } from '../schemas/coverage.js';
import { numberParameter } from './pages.js';
import { pathParameter, queryParameter, type ReadingDeps, readingRoute } from './reading.js';

/**
 * `GET /v1/models/{model_id}/coverage`: how the fields of live calls were read, by day. A test key gets no values of
 * them.
 */
export function coverageRoute(deps: ReadingDeps, store: FieldDayStore): Middleware {
  return readingRoute(deps, async (context, reader) => {
    const { organisation, apiKey } = reader;
    const modelId = pathParameter(context, 'model_id');
    const workspace = await deps.workspaces.workspaceFor(organisation._id, modelId);
    const model = findModel(workspace ?? reader, modelId);
    const asked = numberParameter(context, 'days', coverageDaysSchema);
    const version = queryParameter(context, 'version') || model.version;
    const compiled = await deps.workspaces.manifest(model._id, version);
    if (compiled === undefined) throw new ApiError('modelNotFound', 'The model has no version of this name.');
    const { knownFields } = compiled;
    const isDefault = (queryParameter(context, 'days') ?? '') === '';
    const days = isDefault ? Math.min(asked, maxDaysOf(knownFields)) : asked;
    if (days > maxDaysOf(knownFields))
      throw new ApiError(
        'unreadableRequest',
        `days must be at most ${maxDaysOf(knownFields)} for a model with ${knownFields.scoredSlotCount} fields.`,
      );
    const owner = { org: organisation._id, model: model._id, version };
    const coverage = await readCoverage(store, owner, { knownFields, days, nowMs: deps.clock.now() });
    const fields = coverage.fields.map((field) => (apiKey.kind === 'test' ? { ...field, unseen_values: [] } : field));
    return { model_id: model._id, model_version: version, ...coverage, fields };
  });
}
