import { monthEndMs, monthOf } from '../../contract/dates.js';
import { allowanceOf, hasLiveApi, isReadOnly } from '../../contract/plans.js';
import type { ShapeOf } from '../../contract/schema.js';
import { isCleared } from '../../contract/verdict.js';
import { type Organisation, OrganisationStore } from '../../store/accounts/organisations.js';
import { ModelStore, overrideOf } from '../../store/models/models.js';
import { type ActionContext, defineAction } from '../action.js';
import { notFound } from '../admin-error.js';
import { verdictsOf } from '../models/read-models.js';
import { organisationInput, standingOutput } from '../schemas/organisations.js';
import { readCounter } from '../usage/usage-counters.js';

type Refusal = ShapeOf<typeof standingOutput>['refusals'][number];
const shownModels = 5;

/** Tells why the calls of an organisation are refused now. See `admission.ts` and `metering.ts` in `api/admission/`. */
export const showStanding = defineAction({
  name: 'org.standing',
  description:
    'Tell why calls of an organisation are refused now: a suspension, its trial, plan, limit, deploy policy.',
  role: 'viewer',
  effect: 'read',
  input: organisationInput,
  output: standingOutput,
  async run(context, { org_id: id }) {
    const organisation = await new OrganisationStore(context.database).find(id);
    if (organisation === undefined) throw notFound('organisation', id);
    const { plan, suspended, deletion } = organisation;
    // Operators alone see it then, and its page says so.
    if (deletion !== undefined) return { org_id: id, plan, refusals: [] };
    if (suspended !== undefined) {
      const { at, reason } = suspended;
      const refusal = { reason: 'suspended', since: at.toISOString(), operator_reason: reason } as const;
      return { org_id: id, plan, refusals: [refusal] };
    }
    const found = await Promise.all([planRefusal(context, organisation), blockedModels(context, organisation)]);
    return { org_id: id, plan, refusals: found.filter((each) => each !== undefined) };
  },
});

/** The state of plan and limit, for all models. */
async function planRefusal(context: ActionContext, organisation: Organisation): Promise<Refusal | undefined> {
  const nowMs = context.clock.now();
  const { trial_ends_at: trialEnds } = organisation;
  if (isReadOnly(organisation, nowMs))
    return { reason: 'trial_ended', ...(trialEnds === undefined ? {} : { since: trialEnds.toISOString() }) };
  if (!hasLiveApi(organisation)) return { reason: 'plan_without_live_calls' };
  const counter = { organisationId: organisation._id, bucket: 'live', month: monthOf(nowMs) } as const;
  // Without the counter, the next call restores it. The ledger of a busy month takes too long for each page.
  const counted = await context
    .redis()
    .then((redis) => readCounter(redis, counter))
    .catch(() => undefined);
  const { hardStop: backstop } = allowanceOf(organisation, 'live');
  if (counted === undefined || counted.used < backstop) return undefined;
  return { reason: 'hard_stop', backstop, until: new Date(monthEndMs(nowMs)).toISOString() };
}

/** The models with Live API on whose calls the policy `block` refuses. */
async function blockedModels(
  context: ActionContext,
  { _id: organisationId, policy }: Organisation,
): Promise<Refusal | undefined> {
  if (policy !== 'block') return undefined;
  const models = await new ModelStore(context.database).list(organisationId);
  const live = models.filter((model) => model.live_api && overrideOf(model) === undefined);
  const verdicts = verdictsOf(context);
  const states = await Promise.all(live.map(async (model) => ({ model, ...(await verdicts.read(model)) })));
  // A gateway goes on with the verdict that it last read.
  const blocked = states.filter(({ verdict, isUnread }) => !isUnread && !isCleared(verdict));
  if (blocked.length === 0) return undefined;
  return {
    reason: 'blocked_models',
    models: blocked.slice(0, shownModels).map(({ model }) => ({ model_id: model._id, name: model.name })),
    model_count: blocked.length,
  };
}
