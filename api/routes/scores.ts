import type { Context, Middleware } from 'koa';
import { ApiError } from '../../shared/contract/errors.js';
import type { LatestScores } from '../../shared/latest-scores/latest-scores.js';
import { type ErasingStores, type ErasureStore, eraseLead } from '../../shared/store/calls/erasures.js';
import type { PredictionStore } from '../../shared/store/calls/predictions.js';
import { historyLimitSchema } from '../schemas/score-history.js';
import { pathParameter, queryParameter, type ReadingDeps, readingRoute } from './reading.js';

const { default: defaultLimit, minimum: minLimit, maximum: maxLimit } = historyLimitSchema;
const predictionIdForm = /^[0-9a-z]{26}\.\d{4}$/;

/** `GET /v1/scores/{crm_id}`: lists the scores of a lead, newest first, in pages. */
export function scoreHistoryRoute(deps: ReadingDeps, predictions: PredictionStore): Middleware {
  return readingRoute(deps, async (context, { apiKey, organisation }) => {
    const crmId = pathParameter(context, 'crm_id');
    if (apiKey.kind === 'test')
      throw new ApiError(
        'notFound',
        'A test key has no scores of leads, because its scores are not stored: use a live key.',
      );
    const { scores, isLast } = await predictions.history({
      organisationId: organisation._id,
      crmId,
      modelId: modelOf(context),
      before: cursorOf(context),
      limit: limitOf(context),
      timeoutMs: deps.timeoutMs,
    });
    if (scores.length === 0 && !(await predictions.knows(organisation._id, crmId))) throw unknownLead();
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
      ...(isLast || last === undefined ? {} : { next_cursor: Buffer.from(last.id).toString('base64url') }),
    };
  });
}

/** Stores from which a lead is erased. */
export interface ErasureDeps extends ErasingStores {
  readonly erasures: ErasureStore;
  readonly latest: LatestScores;
}

/**
 * `DELETE /v1/scores/{crm_id}`: erases a lead from all stores (see `eraseLead`), now and again after the calls in
 * flight have ended. Test keys are refused, because all stored scores belong to live keys.
 */
export function eraseScoresRoute(deps: ReadingDeps, stores: ErasureDeps): Middleware {
  const { erasures, latest } = stores;
  return readingRoute(deps, async (context, { apiKey, organisation }) => {
    if (apiKey.kind === 'test')
      throw new ApiError('refusedRequest', 'A test key cannot erase scores: use a live key. Nothing was erased.');
    // The history can be limited to one model, so a caller may expect the same here. Erasure cannot be
    // undone.
    if (context.query.model_id)
      throw new ApiError(
        'refusedRequest',
        'DELETE erases the scores of all models: send it without model_id. Nothing was erased.',
      );
    const lead = { organisationId: organisation._id, crmId: pathParameter(context, 'crm_id') };
    const asked = { ...lead, nowMs: deps.clock.now() };
    const erasure = await erasures.begin(asked);
    const wasThere = await eraseLead(stores, asked);
    // Runs last, and again on a retry: the steps above are idempotent.
    await latest.forgetLead(lead);
    await erasures.end(erasure, deps.clock.now());
    if (!wasThere) throw unknownLead();
    return undefined;
  });
}

const unknownLead = (): ApiError => new ApiError('notFound', 'Nothing has been scored under this crm_id.');

/** An empty parameter counts as absent: forms of automation tools send it. */
function modelOf(context: Context): string | undefined {
  const text = queryParameter(context, 'model_id');
  return text === '' ? undefined : text;
}

function limitOf(context: Context): number {
  const text = queryParameter(context, 'limit');
  if (text === undefined) return defaultLimit;
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit >= minLimit && limit <= maxLimit) return limit;
  throw new ApiError('unreadableRequest', `limit must be a whole number from ${minLimit} to ${maxLimit}.`);
}

function cursorOf(context: Context): string | undefined {
  const text = queryParameter(context, 'cursor');
  if (text === undefined) return undefined;
  const id = Buffer.from(text, 'base64url').toString('latin1');
  if (predictionIdForm.test(id)) return id;
  throw new ApiError('unreadableRequest', 'cursor must be the next_cursor of the previous page.');
}
