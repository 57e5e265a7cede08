import type { Context, Middleware } from 'koa';
import { meaningOf } from '../../../shared/admin/outcomes/converted-values.js';
import { shortenedText } from '../../../shared/contract/texts.js';
import { type Authenticator, authenticateWebhook } from '../../auth/authenticate.js';
import { parseWebhookBody, webhookForm } from '../../webhook/body.js';
import { readOutcomeWebhook } from '../../webhook/outcome.js';
import { queryParameter, type ReadingDeps, receivingRoute } from '../reading.js';
import { requireDate } from './outcomes.js';
import { type KnownLeads, type OutcomesDeps, receiveOutcomes, recordOutcomes } from './record-outcomes.js';

const maxShown = 100;

/**
 * `POST /v1/webhooks/outcome`: the outcome of one lead, in the format of a CRM or automation tool. A value that means
 * neither won nor lost is accepted, because a workflow runs at each stage of a deal, and stored as nothing.
 */
export function webhookOutcomeRoute(
  deps: ReadingDeps & { readonly keys: Authenticator },
  outcomesDeps: OutcomesDeps,
): Middleware {
  const { largeBodies } = outcomesDeps;
  const keys = { authenticate: (request: Context['req']) => authenticateWebhook(request, deps.keys) };
  return receivingRoute(
    { ...deps, keys },
    {
      window: 'outcomes',
      receive: async (context, reader) => {
        const call = await receiveOutcomes(context, reader, { ...outcomesDeps, timeoutMs: deps.timeoutMs });
        const form = webhookForm(context);
        const report = await largeBodies.inTurn(call, async () =>
          readOutcomeWebhook(
            await parseWebhookBody(call.body, form),
            (name) => queryParameter(context, name) || undefined,
          ),
        );
        return { report, call };
      },
      answer: async (_context, { organisation, apiKey }, { report, call }) => {
        const { crmId, sentId, outcome, at, isHubSpotAction } = report;
        const converted = meaningOf(outcome, organisation);
        const isTest = apiKey.kind === 'test';
        const flat = {
          crm_id: sentId,
          outcome,
          converted: converted ?? null,
          stored: converted !== undefined && !isTest,
        };
        const members = { ...flat, ...(isTest && { test: true }) };
        const reply = (notices: readonly string[] = []) => ({
          ...members,
          ...(notices.length > 0 && { notices }),
          ...(isHubSpotAction && { outputFields: { ...members, hs_execution_state: 'SUCCESS' } }),
        });
        if (converted === undefined) return reply([neither(outcome)]);
        const date = requireDate(at, { converted, nowMs: deps.clock.now(), path: 'at' });
        if (isTest) return reply();
        const outcomes = [{ crmId, converted, ...date }];
        const { known } = await recordOutcomes(deps, outcomesDeps, { organisation, outcomes, sent: [sentId], call });
        return reply(known?.unknown === 1 ? [withoutScore(known)] : []);
      },
    },
  );
}

const neither = (outcome: string): string =>
  `${outcome === '' ? 'An empty outcome' : JSON.stringify(shortenedText(outcome, maxShown))} means neither won nor lost, ` +
  'so nothing was stored. If it should, add it to won_values or lost_values of the organisation.';

const withoutScore = ({ scored_example: example }: KnownLeads): string =>
  'No lead has a stored score under this crm_id. The outcome is kept, and counts once the lead is scored under it.' +
  (example === undefined ? '' : ` A lead with a score is ${JSON.stringify(example)}.`);
