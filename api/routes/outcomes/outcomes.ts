import type { Middleware } from 'koa';
import { type CrmIdProblem, readCrmId, storedCrmId } from '../../../shared/contract/crm-id.js';
import { firstYear, lastYear, maxDaysAhead, outcomeDate } from '../../../shared/contract/dates.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { shortenedRemedy } from '../../../shared/files/reading/row-faults.js';
import type { PredictionStore } from '../../../shared/store/calls/predictions.js';
import { type Outcome, type OutcomeStore, outcomesPerWrite } from '../../../shared/store/validation/outcomes.js';
import type { BodyMemory } from '../../request/body-memory.js';
import { requireJson } from '../../request/content-type.js';
import type { LargeBodies } from '../../request/large-bodies.js';
import { maxValues, parseJsonBody } from '../../request/parse-json.js';
import { type BodyLimits, CallerGone, readBody } from '../../request/read-body.js';
import { type OutcomesRequest, outcomesRequestSchema } from '../../schemas/outcomes.js';
import { compileCheck } from '../../schemas/validator.js';
import type { GradeRequests } from './grade-requests.js';
import type { OutcomeLimit } from './outcome-limit.js';
import { type ReadingDeps, receivingRoute } from '../reading.js';

const maxOutcomes = outcomesRequestSchema.properties.outcomes.maxItems;
const valueLimit = { max: maxValues.ofOutcomes, advice: 'send only crm_id, converted and at of each lead' };

/** Dependencies of `outcomesRoute`, besides those of every reading endpoint. */
export interface OutcomesDeps {
  readonly store: OutcomeStore;
  readonly limit: Pick<OutcomeLimit, 'take'>;
  readonly grades: Pick<GradeRequests, 'request'>;
  readonly predictions: Pick<PredictionStore, 'scoredAmong' | 'scoredLeadNear'>;
  readonly largeBodies: LargeBodies;
  readonly limits: BodyLimits;
  readonly bodies: BodyMemory;
}

interface ReportedLeads {
  readonly organisationId: string;
  readonly leads: ReadonlySet<string>;
  readonly outcomes: readonly Outcome[];
  /** The crm_id of each outcome, as it was sent. */
  readonly sent: readonly string[];
}

/**
 * `POST /v1/outcomes`: records what became of leads. Free of charge, limited by the plan, and idempotent. The rate is
 * that of scoring, because a call costs the gateway as much. Works in every state of the organisation. Calls of test
 * keys are validated and answered, but not stored.
 */
export function outcomesRoute(deps: ReadingDeps, outcomesDeps: OutcomesDeps): Middleware {
  const { store, limit, grades, predictions, largeBodies, limits, bodies } = outcomesDeps;
  const check = compileCheck(outcomesRequestSchema);
  /** How many of the leads were ever scored, with an example of each side. */
  async function knownLeads({ organisationId, leads, outcomes, sent }: ReportedLeads) {
    const scored = await predictions.scoredAmong({ organisationId, crmIds: [...leads] }, deps.timeoutMs);
    const counts = { known: scored.size, unknown: leads.size - scored.size };
    const unknown = sent[outcomes.findIndex(({ crmId }) => !scored.has(crmId))];
    if (unknown === undefined) return counts;
    const example = await predictions.scoredLeadNear({ organisationId, crmId: unknown }, deps.timeoutMs);
    return { ...counts, unknown_example: unknown, ...(example !== undefined && { scored_example: example }) };
  }
  return receivingRoute(deps, {
    window: 'outcomes',
    receive: async (context, { apiKey }) => {
      const body = await readBody(context.req, limits, bodies.begin(apiKey.organisation_id));
      requireJson(context);
      const { socket } = context.req;
      const call = {
        body,
        apiKey,
        deadline: { monotonicMs: performance.now() + deps.timeoutMs },
        hasHungUp: () => socket.destroyed,
      };
      const { request, outcomes } = await largeBodies.inTurn(call, async () => {
        const request = check(await parseJsonBody(body, valueLimit));
        return { request, outcomes: outcomesOf(request, deps.clock.now()) };
      });
      return { sent: request.outcomes.map(({ crm_id: crmId }) => String(crmId)), outcomes, call };
    },
    answer: async (_context, { organisation, apiKey }, { sent, outcomes, call }) => {
      if (apiKey.kind === 'test') return { accepted: outcomes.length, test: true };
      const organisationId = organisation._id;
      const receivedAt = new Date(deps.clock.now());
      const leads = new Set(outcomes.map(({ crmId }) => crmId));
      try {
        // One call at a time: a thousand upserts keep a core of MongoDB busy for 0.1 s.
        return await largeBodies.inTurn({ ...call, isLarge: outcomes.length > outcomesPerWrite }, async () => {
          const took = await limit.take(organisation, leads);
          const stored = await store.record({ organisationId, outcomes, receivedAt, perWrite: outcomesPerWrite });
          took(stored.added);
          if (stored.changed > 0) grades.request(organisationId);
          // The outcomes are stored: without these figures the call has still succeeded.
          const known = await knownLeads({ organisationId, leads, outcomes, sent }).catch(() => undefined);
          return { accepted: outcomes.length, ...known, repeated: outcomes.length - leads.size };
        });
      } catch (cause) {
        if (cause instanceof ApiError || cause instanceof CallerGone) throw cause;
        const message = 'The outcomes could not be recorded; it is safe to send all of them again.';
        throw new ApiError('internalError', message, { cause, retryAfterSeconds: 1 });
      }
    },
  });
}

/** @throws ApiError refusedRequest for the first invalid entry */
function outcomesOf({ outcomes }: OutcomesRequest, nowMs: number): Outcome[] {
  if (outcomes.length === 0)
    throw new ApiError('refusedRequest', `There are no outcomes: send between 1 and ${maxOutcomes}.`);
  if (outcomes.length > maxOutcomes) {
    throw new ApiError(
      'refusedRequest',
      `The call has ${outcomes.length} outcomes; at most ${maxOutcomes} are accepted in one call.`,
    );
  }
  return outcomes.map(({ crm_id, converted, at: text }, index) => {
    const sentId = String(crm_id);
    const read = readCrmId(sentId);
    if ('problem' in read) throw noId(`outcomes[${index}].crm_id`, sentId, read.problem);
    const date = outcomeDate(text, { converted, nowMs });
    if ('at' in date) return { crmId: storedCrmId(read.id), converted, ...date };
    const must =
      date.problem === 'no_date'
        ? `must be an ISO 8601 date or date and time of the years ${firstYear} to ${lastYear}, ` +
          'such as 2026-11-21T14:05:00Z'
        : `must not be more than ${maxDaysAhead} days ahead for a lead that has converted`;
    throw new ApiError('refusedRequest', `outcomes[${index}].at ${must}, but is "${text}".`);
  });
}

/** Refuses a text that the schema accepts and that is no id. */
const noId = (path: string, text: string, problem: CrmIdProblem): ApiError =>
  new ApiError(
    'refusedRequest',
    problem === 'scientific'
      ? `${path} is "${text}", a number that a spreadsheet has shortened. ${shortenedRemedy}.`
      : `${path} is "${text}", which stands for a missing value. Leave out leads without an id.`,
  );
