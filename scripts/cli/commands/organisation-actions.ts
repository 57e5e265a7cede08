import { allowanceOf, hasLiveApi, isReadOnly, type PlanName, trialDays } from '../../../shared/plans.js';
import {
  type DeployPolicy,
  type Organisation,
  type OrganisationFields,
  OrganisationStore,
} from '../../../shared/store/organisations.js';
import { readableCount, readableDate } from '../../terminal/readable-numbers.js';
import { renderFields, renderTable } from '../../terminal/table.js';
import { announceChange } from '../announce-change.js';
import { type CliContext, type CommandResult, lineWidth } from '../cli-context.js';
import { notFound, usageError } from '../cli-error.js';

/** What the options of `org create` and `org set` hold after parsing. */
export interface OrganisationOptions {
  readonly name?: string;
  readonly plan?: PlanName;
  /** `plan` for the plan's own; that can only be set. */
  readonly limit?: number | 'plan';
  readonly policy?: DeployPolicy;
  readonly trialEnds?: Date;
  readonly json?: boolean;
}

const dayMs = 24 * 60 * 60 * 1000;

/** Creates an organisation. A trial ends in 14 days unless told otherwise. */
export async function createOrganisation(
  { clock, connections }: CliContext,
  options: OrganisationOptions,
): Promise<CommandResult> {
  const { name, plan } = options;
  if (name === undefined || plan === undefined) throw usageError('--name and --plan are required');
  checkPlan(options, plan);
  const now = new Date(clock.now());
  const fields: OrganisationFields = {
    name,
    plan,
    policy: options.policy ?? 'warn',
    ...(typeof options.limit === 'number' ? { limit: options.limit } : {}),
    ...(plan === 'trial' ? { trial_ends_at: options.trialEnds ?? trialEnd(now) } : {}),
  };
  const store = new OrganisationStore(await connections.preparedDatabase());
  const organisation = await store.create(fields, now);
  const next = `Next: npx leadscore key create ${organisation._id}`;
  return { document: documentOf(organisation), text: `${describe(organisation, clock.now())}\n\n${next}` };
}

/** Changes some fields of an organisation. One that is put on trial gets 14 days unless told otherwise. */
export async function setOrganisation(
  context: CliContext,
  organisationId: string,
  options: OrganisationOptions,
): Promise<CommandResult> {
  const { name, plan, limit, policy, trialEnds } = options;
  if ([name, plan, limit, policy, trialEnds].every((value) => value === undefined))
    throw usageError('Nothing to set: give --name, --plan, --limit, --policy or --trial-ends');
  const { clock, connections } = context;
  const store = new OrganisationStore(await connections.preparedDatabase());
  const before = await requireOrganisation(store, organisationId);
  checkPlan(options, plan ?? before.plan);
  const startsTrial = plan === 'trial' && before.plan !== 'trial';
  const trial_ends_at = trialEnds ?? (startsTrial ? trialEnd(new Date(clock.now())) : undefined);
  const ownLimit = limit === 'plan' ? undefined : limit;
  const given = Object.entries({ name, plan, limit: ownLimit, policy, trial_ends_at });
  const fields: Partial<OrganisationFields> = Object.fromEntries(
    given.filter(([, value]) => value !== undefined),
  );
  const absent = limit === 'plan' ? (['limit'] as const) : [];
  const organisation = (await store.update(organisationId, fields, absent)) ?? before;
  await announceChange(context, { kind: 'organisation', id: organisationId });
  const note = plan !== undefined && limit === undefined ? ownLimitNote(organisation) : '';
  return { document: documentOf(organisation), text: describe(organisation, clock.now()) + note };
}

/** Shows one organisation. */
export async function showOrganisation(
  { clock, connections }: CliContext,
  organisationId: string,
): Promise<CommandResult> {
  const store = new OrganisationStore(await connections.database());
  const organisation = await requireOrganisation(store, organisationId);
  return { document: documentOf(organisation), text: describe(organisation, clock.now()) };
}

/** Lists all organisations. */
export async function listOrganisations({ connections, stdout }: CliContext): Promise<CommandResult> {
  const organisations = await new OrganisationStore(await connections.database()).list();
  const columns = [
    { name: 'Organisation', whole: true },
    { name: 'Name' },
    { name: 'Plan' },
    { name: 'Limit', align: 'right' },
    { name: 'Policy' },
    { name: 'Created', whole: true },
  ] as const;
  const rows = organisations.map((organisation) => [
    organisation._id,
    organisation.name,
    organisation.plan,
    readableCount(allowanceOf(organisation, 'live').limit),
    organisation.policy,
    organisation.created_at.toISOString().slice(0, 10),
  ]);
  const none = 'No organisations yet. Create one: npx leadscore org create --name NAME --plan pro';
  return {
    document: { organisations: organisations.map(documentOf) },
    text: rows.length === 0 ? none : renderTable(columns, rows, { width: lineWidth(stdout) }),
  };
}

/**
 * The organisation with this id.
 * @throws CliError saying how to see those that exist
 */
export async function requireOrganisation(
  store: OrganisationStore,
  organisationId: string,
): Promise<Organisation> {
  const organisation = await store.find(organisationId);
  if (organisation === undefined) throw notFound(`organisation ${organisationId}`, 'org list');
  return organisation;
}

const trialEnd = (now: Date): Date => new Date(now.getTime() + trialDays * dayMs);

/** Refuses what would change nothing on a plan, and come as a surprise with the next one. */
function checkPlan({ limit, trialEnds }: OrganisationOptions, plan: PlanName): void {
  if (trialEnds !== undefined && plan !== 'trial')
    throw usageError(`--trial-ends is for the trial plan; this organisation's plan is ${plan}`);
  if (typeof limit === 'number' && !hasLiveApi({ plan }))
    throw usageError(
      `--limit is for plans with live records; the plan ${plan} has none. Give it together with --plan trial, pro or enterprise`,
    );
}

/** What `--json` says of an organisation. */
function documentOf(organisation: Organisation): Record<string, unknown> {
  const { limit, backstop } = allowanceOf(organisation, 'live');
  return {
    org_id: organisation._id,
    name: organisation.name,
    plan: organisation.plan,
    limit,
    backstop,
    policy: organisation.policy,
    ...(organisation.plan === 'trial' && organisation.trial_ends_at !== undefined
      ? { trial_ends_at: organisation.trial_ends_at }
      : {}),
    created_at: organisation.created_at,
  };
}

function describe(organisation: Organisation, nowMs: number): string {
  const { limit, backstop } = allowanceOf(organisation, 'live');
  const isOwn = organisation.limit !== undefined && hasLiveApi(organisation);
  const trialEnds = organisation.plan === 'trial' ? organisation.trial_ends_at : undefined;
  return renderFields([
    ['Organisation', organisation._id],
    ['Name', organisation.name],
    ['Plan', organisation.plan + (organisation.plan === 'free' ? ' (no live API)' : '')],
    [
      'Trial ends',
      trialEnds &&
        `${readableDate(trialEnds)} UTC${isReadOnly(organisation, nowMs) ? ' (over: read-only, live and test calls get 402)' : ''}`,
    ],
    [
      'Live records',
      `${readableCount(limit)} a month included${isOwn ? ' (own limit)' : ''}, stop at ${readableCount(backstop ?? limit)}`,
    ],
    ['Deploy policy', policyWords[organisation.policy]],
    ['Created', `${readableDate(organisation.created_at)} UTC`],
  ]);
}

/** Says of another plan that the organisation's own limit outlives the change: who buys a plan expects that plan's. */
function ownLimitNote({ _id, limit, plan }: Organisation): string {
  if (limit === undefined) return '';
  const stays = hasLiveApi({ plan }) ? 'records a month stays' : 'counts again on a plan with live records';
  return `\n\nIts own limit of ${readableCount(limit)} ${stays}.\nTo end it: npx leadscore org set ${_id} --limit plan`;
}

const policyWords = {
  block: 'block (models that have not passed validation are refused)',
  warn: 'warn (every model scores, with its verdict attached)',
} as const;
