import type { Context } from 'koa';
import { ApiError } from '../../../shared/contract/errors.js';
import type { Organisation } from '../../../shared/store/accounts/organisations.js';
import type { PredictionStore } from '../../../shared/store/calls/predictions.js';
import { type Outcome, type OutcomeStore, outcomesPerWrite } from '../../../shared/store/validation/outcomes.js';
import type { BodyMemory } from '../../request/body-memory.js';
import type { LargeBodies, QueuedCall } from '../../request/large-bodies.js';
import { type BodyLimits, CallerGone, readBody } from '../../request/read-body.js';
import type { ReadingDeps } from '../reading.js';
import type { GradeRequests } from './grade-requests.js';
import type { OutcomeLimit } from './outcome-limit.js';

/** Dependencies of the routes that take outcomes, besides those of every reading endpoint. */
export interface OutcomesDeps {
  readonly store: OutcomeStore;
  readonly limit: Pick<OutcomeLimit, 'take'>;
  readonly grades: Pick<GradeRequests, 'request'>;
  readonly predictions: Pick<PredictionStore, 'scoredAmong' | 'scoredLeadNear'>;
  readonly largeBodies: LargeBodies;
  readonly limits: BodyLimits;
  readonly bodies: BodyMemory;
}

/** The outcomes of one call. */
export interface ReportedOutcomes {
  readonly organisation: Organisation;
  readonly outcomes: readonly Outcome[];
  /** The crm_id of each outcome, as it was sent. */
  readonly sent: readonly string[];
  readonly call: QueuedCall;
}

/** How many leads were ever scored, with an example of each side. */
export interface KnownLeads {
  readonly known: number;
  readonly unknown: number;
  readonly unknown_example?: string;
  readonly scored_example?: string;
}

/**
 * Receives the body of a call with outcomes.
 * @param timeoutMs of the call from now on
 */
export async function receiveOutcomes(
  { req }: Pick<Context, 'req'>,
  { apiKey }: Pick<QueuedCall, 'apiKey'>,
  { limits, bodies, timeoutMs }: Pick<OutcomesDeps, 'limits' | 'bodies'> & { readonly timeoutMs: number },
): Promise<QueuedCall> {
  const body = await readBody(req, limits, bodies.begin(apiKey.organisation_id));
  const { socket } = req;
  const deadline = { monotonicMs: performance.now() + timeoutMs };
  return { body, apiKey, deadline, hasHungUp: () => socket.destroyed };
}

/**
 * Stores the outcomes of a call within the limit of the plan, and asks for a grade if they changed anything.
 * @returns `known` is undefined if the leads could not be looked up. The outcomes are stored then too
 * @throws ApiError refusedRequest above the limit; internalError if they may not be stored; CallerGone
 */
export async function recordOutcomes(
  { clock, timeoutMs }: Pick<ReadingDeps, 'clock' | 'timeoutMs'>,
  { store, limit, grades, predictions, largeBodies }: OutcomesDeps,
  { organisation, outcomes, sent, call }: ReportedOutcomes,
): Promise<{ readonly leads: number; readonly known: KnownLeads | undefined }> {
  const organisationId = organisation._id;
  const receivedAt = new Date(clock.now());
  const leads = new Set(outcomes.map(({ crmId }) => crmId));
  async function knownLeads(): Promise<KnownLeads> {
    const scored = await predictions.scoredAmong({ organisationId, crmIds: [...leads] }, timeoutMs);
    const counts = { known: scored.size, unknown: leads.size - scored.size };
    const unknown = sent[outcomes.findIndex(({ crmId }) => !scored.has(crmId))];
    if (unknown === undefined) return counts;
    const example = await predictions.scoredLeadNear({ organisationId, crmId: unknown }, timeoutMs);
    return { ...counts, unknown_example: unknown, ...(example !== undefined && { scored_example: example }) };
  }
  try {
    // One call at a time: a thousand upserts keep a core of MongoDB busy for 0.1 s.
    return await largeBodies.inTurn({ ...call, isLarge: outcomes.length > outcomesPerWrite }, async () => {
      const took = await limit.take(organisation, leads);
      const stored = await store.record({ organisationId, outcomes, receivedAt, perWrite: outcomesPerWrite });
      took(stored.added);
      if (stored.changed > 0) grades.request(organisationId);
      // The outcomes are stored: without these figures the call has still succeeded.
      return { leads: leads.size, known: await knownLeads().catch(() => undefined) };
    });
  } catch (cause) {
    throw asNotRecorded(cause);
  }
}

/** The error of a call whose outcomes may not be stored. */
export function asNotRecorded(cause: unknown): unknown {
  if (cause instanceof ApiError || cause instanceof CallerGone) return cause;
  const message = 'The outcomes could not be recorded; it is safe to send all of them again.';
  return new ApiError('internalError', message, { cause, retryAfterSeconds: 1 });
}
