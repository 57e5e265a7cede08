import type { Context, Middleware } from 'koa';
import { type CrmIdProblem, readCrmId, storedCrmId } from '../../../shared/contract/crm-id.js';
import { firstYear, lastYear, maxDaysAhead, outcomeDate } from '../../../shared/contract/dates.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { shortenedRemedy } from '../../../shared/files/reading/row-faults.js';
import type { Outcome } from '../../../shared/store/validation/outcomes.js';
import { requireJson } from '../../request/content-type.js';
import { maxValues, parseJsonBody } from '../../request/parse-json.js';
import { fileOptionNames, type OutcomesRequest, outcomesRequestSchema } from '../../schemas/outcomes.js';
import { compileCheck } from '../../schemas/validator.js';
import { type ReadingDeps, receivingRoute } from '../reading.js';
import { outcomesFileRoute } from './outcomes-file.js';
import { type OutcomesDeps, receiveOutcomes, recordOutcomes } from './record-outcomes.js';

const maxOutcomes = outcomesRequestSchema.properties.outcomes.maxItems;
const valueLimit = { max: maxValues.ofOutcomes, advice: 'send only crm_id, converted and at of each lead' };

/**
 * `POST /v1/outcomes`: records what became of leads. Free of charge, limited by the plan, and idempotent. The rate is
 * that of scoring, because a call costs the gateway as much. Works in every state of the organisation. Calls of test
 * keys are validated and answered, but not stored.
 */
export function outcomesRoute(deps: ReadingDeps, outcomesDeps: OutcomesDeps): Middleware {
  const ofFile = outcomesFileRoute(deps, outcomesDeps);
  const ofJson = outcomesJsonRoute(deps, outcomesDeps);
  return (context, next) => (context.is('text/csv') === 'text/csv' ? ofFile : ofJson)(context, next);
}

function outcomesJsonRoute(deps: ReadingDeps, outcomesDeps: OutcomesDeps): Middleware {
  const { largeBodies } = outcomesDeps;
  const check = compileCheck(outcomesRequestSchema);
  return receivingRoute(deps, {
    window: 'outcomes',
    receive: async (context, reader) => {
      const call = await receiveOutcomes(context, reader, { ...outcomesDeps, timeoutMs: deps.timeoutMs });
      requireJson(context, ' A file of outcomes is sent as text/csv.');
      requireNoFileOptions(context);
      const { request, outcomes } = await largeBodies.inTurn(call, async () => {
        const request = check(await parseJsonBody(call.body, valueLimit));
        return { request, outcomes: outcomesOf(request, deps.clock.now()) };
      });
      return { sent: request.outcomes.map(({ crm_id: crmId }) => String(crmId)), outcomes, call };
    },
    answer: async (_context, { organisation, apiKey }, { sent, outcomes, call }) => {
      if (apiKey.kind === 'test') return { accepted: outcomes.length, test: true };
      const { leads, known } = await recordOutcomes(deps, outcomesDeps, { organisation, outcomes, sent, call });
      return { accepted: outcomes.length, ...known, repeated: outcomes.length - leads };
    },
  });
}

/** An option that is not read would change nothing unseen. @throws ApiError unreadableRequest */
function requireNoFileOptions({ querystring }: Pick<Context, 'querystring'>): void {
  const sent = new URLSearchParams(querystring);
  const option = fileOptionNames.find((name) => sent.has(name));
  if (option !== undefined)
    throw new ApiError(
      'unreadableRequest',
      `This call has JSON, and ${option} is an option of a file: take it out of the address.`,
    );
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
    const date = requireDate(text, { converted, nowMs, path: `outcomes[${index}].at` });
    return { crmId: storedCrmId(read.id), converted, ...date };
  });
}

/** The date of an outcome. @throws ApiError refusedRequest that names its path */
export function requireDate(
  text: string | null | undefined,
  { path, ...of }: { readonly converted: boolean; readonly nowMs: number; readonly path: string },
): Pick<Outcome, 'at' | 'isUndated'> {
  const date = outcomeDate(text, of);
  if ('at' in date) return date;
  const must =
    date.problem === 'no_date'
      ? `must be an ISO 8601 date or date and time of the years ${firstYear} to ${lastYear}, ` +
        'such as 2026-11-21T14:05:00Z'
      : `must not be more than ${maxDaysAhead} days ahead for a lead that has converted`;
  throw new ApiError('refusedRequest', `${path} ${must}, but is "${text}".`);
}

/** Refuses a text that the schema accepts and that is no id. */
const noId = (path: string, text: string, problem: CrmIdProblem): ApiError =>
  new ApiError(
    'refusedRequest',
    problem === 'scientific'
      ? `${path} is "${text}", a number that a spreadsheet has shortened. ${shortenedRemedy}.`
      : `${path} is "${text}", which stands for a missing value. Leave out leads without an id.`,
  );
