import type { Context, Middleware } from 'koa';
import { ApiError } from '../../shared/contract/errors.js';
import type { LatestScores } from '../../shared/latest-scores/latest-scores.js';
import {
  type ErasingStores,
  type ErasureStore,
  eraseLead,
  type Lead,
  leadHash,
} from '../../shared/store/calls/erasures.js';
import type { PredictionStore } from '../../shared/store/calls/predictions.js';
import type { Metering } from '../metering/metering.js';
import { queryParameter } from '../request/receive-call.js';
import { historyLimitSchema } from '../schemas/score-history.js';
import { pathParameter, type Reader, type ReadingDeps, readingRoute } from './reading.js';

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

/** Dependencies of `eraseScoresRoute`, besides those of every reading endpoint. */
export interface ErasureDeps extends ErasingStores {
  readonly erasures: ErasureStore;
  readonly latest: LatestScores;
  readonly metering: Pick<Metering, 'hasCallsInFlight'>;
  /** Redis's clock, which dates the arrival of calls. */
  readonly redisNowMs: () => Promise<number>;
  /** Maximum duration of a call. */
  readonly leaseMs: number;
  readonly keyPepper: string;
}

/**
 * `DELETE /v1/scores/{crm_id}`: erases a lead from all stores (see `eraseLead`), now and again after the calls in
 * flight have ended. Test keys are refused, because all stored scores belong to live keys. Its rate is that of scoring,
 * in a window of its own.
 */
export function eraseScoresRoute(deps: ReadingDeps, stores: ErasureDeps): Middleware {
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
    const wasKnown = await erase({ organisationId: organisation._id, crmId: pathParameter(context, 'crm_id') }, stores);
    if (!wasKnown) throw unknownLead();
    return undefined;
  };
  return readingRoute(deps, answer, 'erasing');
}

/**
 * Erases a lead now. Notes it for the second erasure, unless there is nothing to erase then: the lead is unknown, and no
 * call is in flight.
 * @returns whether anything was stored of the lead
 */
async function erase(lead: Lead, stores: ErasureDeps): Promise<boolean> {
  const { predictions, outcomes, erasures, latest, metering, redisNowMs, leaseMs, keyPepper } = stores;
  const { organisationId, crmId } = lead;
  const note = async (wasKnown: boolean): Promise<void> => {
    const atMs = await redisNowMs();
    await erasures.note(lead, { hash: leadHash(lead, keyPepper), atMs, dueMs: atMs + leaseMs, wasKnown });
  };
  const isKnown = (await predictions.knows(organisationId, crmId)) || (await outcomes.knows(organisationId, crmId));
  const mayReturn = isKnown || (await metering.hasCallsInFlight(organisationId));
  if (mayReturn) await note(isKnown);
  const wasKnown = (await eraseLead(stores, lead)) || isKnown;
  await latest.forgetLead(lead);
  // A call that arrives from now on finds nothing of the lead, so that the second erasure leaves it alone.
  if (mayReturn || wasKnown) await note(wasKnown);
  return wasKnown;
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
