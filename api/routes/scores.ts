import type { Context, Middleware } from 'koa';
import { storedCrmId } from '../../shared/contract/crm-id.js';
import { ApiError } from '../../shared/contract/errors.js';
import { type ErasureStores, eraseEverywhere } from '../../shared/latest-scores/erase-everywhere.js';
import type { PredictionStore } from '../../shared/store/calls/predictions.js';
import { historyLimitSchema } from '../schemas/score-history.js';
import { cursorAfter, cursorOf, limitOf } from './pages.js';
import { pathParameter, queryParameter, type Reader, type ReadingDeps, readingRoute } from './reading.js';

const predictionIdForm = /^[0-9A-Za-z]{26}\.\d{4}$/;

/** `GET /v1/scores/{crm_id}`: lists the scores of a lead, newest first, in pages. */
export function scoreHistoryRoute(deps: ReadingDeps, predictions: PredictionStore): Middleware {
  return readingRoute(deps, async (context, { apiKey, organisation }) => {
    const crmId = pathParameter(context, 'crm_id');
    const lead = storedCrmId(crmId);
    if (apiKey.kind === 'test')
      throw new ApiError(
        'notFound',
        'A test key has no scores of leads, because its scores are not stored: use a live key.',
      );
    const { scores, isLast } = await predictions.history({
      organisationId: organisation._id,
      crmId: lead,
      modelId: modelOf(context),
      before: cursorOf(context, predictionIdForm),
      limit: limitOf(context, historyLimitSchema),
      timeoutMs: deps.timeoutMs,
    });
    if (scores.length === 0 && !(await predictions.knows(organisation._id, lead))) throw unknownLead();
    const last = scores.at(-1);
    return {
      crm_id: crmId,
      scores: scores.map((prediction) => ({
        model_id: prediction.model,
        model_version: prediction.version,
        score: prediction.score,
        conversion_likelihood: prediction.likelihood / 10_000,
        scored_at: prediction.at.toISOString(),
      })),
      ...(isLast || last === undefined ? {} : { next_cursor: cursorAfter(last.id) }),
    };
  });
}

/**
 * `DELETE /v1/scores/{crm_id}`: erases a lead from all stores (see `eraseLead`), now and again after the calls in
 * flight have ended. Test keys are refused, because all stored scores belong to live keys. Its rate is that of scoring,
 * in a window of its own.
 */
export function eraseScoresRoute(deps: ReadingDeps, stores: ErasureStores): Middleware {
  const answer = async (context: Context, { apiKey, organisation }: Reader): Promise<undefined> => {
    if (apiKey.kind === 'test')
      throw new ApiError('refusedRequest', 'A test key cannot erase scores: use a live key. Nothing was erased.');
    // The history can be limited to one model, so a caller may expect the same here. Erasure cannot be
    // undone.
    if (modelOf(context) !== undefined)
      throw new ApiError(
        'refusedRequest',
        'DELETE erases the scores of all models: send it without model_id. Nothing was erased.',
      );
    const wasKnown = await eraseEverywhere(
      { organisationId: organisation._id, crmId: pathParameter(context, 'crm_id') },
      stores,
    );
    if (!wasKnown) throw unknownLead();
    return undefined;
  };
  return readingRoute(deps, answer, 'erasing');
}

const unknownLead = (): ApiError => new ApiError('notFound', 'Nothing has been scored under this crm_id.');

/** An empty parameter counts as absent: forms of automation tools send it. */
function modelOf(context: Context): string | undefined {
  const text = queryParameter(context, 'model_id');
  return text === '' ? undefined : text;
}
