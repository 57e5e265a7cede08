import type { Middleware } from 'koa';
import { ApiError } from '../../shared/errors.js';
import { firstYear, isoInstant, lastYear } from '../../shared/iso-instant.js';
import { isTooFarAhead, mostDaysAhead } from '../../shared/outcome-date.js';
import type { Outcome, OutcomeStore } from '../../shared/store/outcomes.js';
import type { BodiesUnderWay } from '../bodies-under-way.js';
import { boundValues, mostValues } from '../body-values.js';
import type { HeavyCalls } from '../heavy-calls.js';
import { parseJson } from '../parse-json.js';
import { type BodyLimits, bodyText, readBody } from '../read-body.js';
import { requireJson } from '../require-json.js';
import { type OutcomesRequest, outcomesRequestSchema } from '../schemas/outcomes.js';
import { compileCheck } from '../schemas/validator.js';
import { type ReadingRooms, receivingRoute } from './reading.js';

const mostOutcomes = outcomesRequestSchema.properties.outcomes.maxItems;

/** What outcomes pass through. */
export interface OutcomesRooms {
  readonly store: OutcomeStore;
  readonly heavyCalls: HeavyCalls;
  readonly limits: BodyLimits;
  readonly bodies: BodiesUnderWay;
}

/**
 * `POST /v1/outcomes`: what became of leads. Free of charge, in every state of the organisation; sending a call again
 * changes nothing. A test key's call is checked and answered, and nothing of it is kept.
 */
export function outcomesRoute(
  rooms: ReadingRooms,
  { store, heavyCalls, limits, bodies }: OutcomesRooms,
): Middleware {
  const check = compileCheck<OutcomesRequest>(outcomesRequestSchema);
  return receivingRoute(rooms, {
    receive: async (context, { apiKey }) => {
      const body = await readBody(context.req, limits, bodies.begin(apiKey.organisation_id));
      requireJson(context);
      const { socket } = context.req;
      const call = {
        body,
        apiKey,
        deadline: { monotonicMs: performance.now() + rooms.timeoutMs },
        hasHungUp: () => socket.destroyed,
      };
      return await heavyCalls.inTurn(call, async ({ breathe }) => {
        const text = bodyText(body);
        boundValues(body, { most: mostValues.ofOutcomes, advice: 'send only what became of each lead' });
        const parsed = parseJson(text);
        await breathe();
        return outcomesOf(check(parsed), rooms.clock.now());
      });
    },
    answer: async (_context, { organisation, apiKey }, outcomes) => {
      if (apiKey.kind === 'test') return { accepted: outcomes.length, test: true };
      const receivedAt = new Date(rooms.clock.now());
      await store
        .record({ organisationId: organisation._id, outcomes, receivedAt })
        .catch((cause: unknown) => {
          const message = 'The outcomes could not be recorded; it is safe to send all of them again.';
          throw new ApiError('internalError', message, { cause, retryAfterSeconds: 1 });
        });
      return { accepted: outcomes.length };
    },
  });
}

/** @throws ApiError naming the first entry that is wrong */
function outcomesOf({ outcomes }: OutcomesRequest, nowMs: number): Outcome[] {
  if (outcomes.length === 0)
    throw new ApiError('refusedRequest', `There are no outcomes: send between 1 and ${mostOutcomes}.`);
  if (outcomes.length > mostOutcomes) {
    throw new ApiError(
      'refusedRequest',
      `The call has ${outcomes.length} outcomes; at most ${mostOutcomes} are taken in one call.`,
    );
  }
  return outcomes.map(({ crm_id, converted, at: text }, index) => {
    const at = isoInstant(text);
    if (at !== undefined && !isTooFarAhead({ converted, at }, nowMs)) return { crmId: crm_id, converted, at };
    const must =
      at === undefined
        ? `must be an ISO 8601 date or date and time of the years ${firstYear} to ${lastYear}, such as 2026-11-21T14:05:00Z`
        : `must not be more than ${mostDaysAhead} days ahead for a lead that has converted`;
    throw new ApiError('refusedRequest', `outcomes[${index}].at ${must}, but is "${text}".`);
  });
}
