import { dayMs, minuteText } from '../../contract/dates.js';
import { allowanceOf, hasLiveApi, type PlanName, trialDays } from '../../contract/plans.js';
import type { ShapeOf } from '../../contract/schema.js';
import type { Organisation, OrganisationStore } from '../../store/accounts/organisations.js';
import { AdminError, invalid, notFound } from '../admin-error.js';
import { ConvertedValues, type OutcomeWords } from '../outcomes/converted-values.js';
import type { organisationSchema } from '../schemas/organisations.js';

/** An organisation as the console and the command line show it. */
export function organisationDocument(organisation: Organisation): ShapeOf<typeof organisationSchema> {
  const { limit, backstop } = allowanceOf(organisation, 'live');
  const { trial_ends_at: trialEnds, limit: ownLimit, won_values, lost_values, suspended, deletion } = organisation;
  return {
    org_id: organisation._id,
    name: organisation.name,
    plan: organisation.plan,
    limit,
    backstop,
    policy: organisation.policy,
    ...(ownLimit === undefined ? {} : { own_limit: ownLimit }),
    ...(organisation.plan === 'trial' && trialEnds !== undefined ? { trial_ends_at: trialEnds.toISOString() } : {}),
    ...(won_values === undefined ? {} : { won_values }),
    ...(lost_values === undefined ? {} : { lost_values }),
    ...(suspended === undefined
      ? {}
      : { suspended: { since: suspended.at.toISOString(), by: suspended.by, reason: suspended.reason } }),
    ...(deletion === undefined
      ? {}
      : {
          deletion: {
            requested_at: deletion.requested_at.toISOString(),
            by: deletion.by,
            due_at: deletion.due_at.toISOString(),
          },
        }),
    created_at: organisation.created_at.toISOString(),
  };
}

/** @throws AdminError not_found; being_deleted, because nothing of such an organisation is shown or changed */
export async function requireOrganisation(store: OrganisationStore, organisationId: string): Promise<Organisation> {
  const organisation = await store.find(organisationId);
  if (organisation === undefined) throw notFound('organisation', organisationId);
  if (organisation.deletion !== undefined) throw beingDeleted(organisationId, organisation.deletion.due_at);
  return organisation;
}

const beingDeleted = (organisationId: string, dueAt: Date): AdminError =>
  new AdminError(
    'being_deleted',
    `The organisation ${organisationId} is to be deleted: its data goes from ${minuteText(dueAt.getTime())} on. Until ` +
      'then an operator can take that back',
  );

/**
 * Refuses a value that would mean won and not won.
 * @throws AdminError invalid_request
 */
export function checkOutcomeValues({ won_values: wonValues = [], lost_values: lostValues = [] }: OutcomeWords): void {
  const won = new ConvertedValues({ wonValues, lostValues: [] });
  const both = lostValues.find((value) => won.read(value) === true);
  if (both !== undefined) throw invalid('lost_values', `has ${JSON.stringify(both)}, which means won too`);
}

/** The end of a trial that begins now. */
export const trialEnd = (nowMs: number): Date => new Date(nowMs + trialDays * dayMs);

/**
 * Refuses settings that the plan ignores, because they would take effect unexpectedly on the next plan.
 * @throws AdminError invalid_request
 */
export function checkPlan(
  given: { readonly limit?: number | null; readonly trial_ends_at?: string },
  plan: PlanName,
): void {
  if (given.trial_ends_at !== undefined && plan !== 'trial')
    throw invalid('trial_ends_at', `needs the trial plan, but this organisation's plan is ${plan}`);
  if (typeof given.limit === 'number' && !hasLiveApi({ plan }))
    throw invalid('limit', `needs a plan with live records, and the plan ${plan} has none`);
}
