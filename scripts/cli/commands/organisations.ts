import { type Command, Option } from 'commander';
import {
  allowanceOf,
  hasLiveApi,
  isReadOnly,
  type PlanName,
  planNames,
  trialDays,
} from '../../../shared/contract/plans.js';
import {
  type DeployPolicy,
  type Organisation,
  type OrganisationFields,
  OrganisationStore,
} from '../../../shared/store/accounts/organisations.js';
import { type CliContext, type CommandResult, lineWidth } from '../context/cli-context.js';
import { notFound, usageError } from '../context/cli-error.js';
import { announceChange } from '../context/connections.js';
import { readableCount, readableDate } from '../output/readable-numbers.js';
import { renderFields, renderTable } from '../output/table.js';
import { defineCommand, isoDate, plainText, recordsOrPlan, wholeNumber } from './define-command.js';

/** Adds `org create`, `set`, `show` and `list`. */
export function addOrganisationCommands(program: Command, context: CliContext): void {
  const organisations = program.command('org').description('Organisations: plan, limit, deploy policy, trial');

  const create = defineCommand(organisations, {
    usage: 'create',
    description: 'Create an organisation',
    examples: ['org create --name "Acme" --plan pro', 'org create --name "Beta" --plan trial --trial-ends 2026-12-31'],
  });
  addFields(create, { required: true, limit: wholeNumber(limits) }).action((options: OrganisationOptions) =>
    context.present(options, createOrganisation(context, options)),
  );

  const set = defineCommand(organisations, {
    usage: 'set <org>',
    description: 'Change the given settings of an organisation and keep the others',
    examples: [
      'org set org_4fzyo82mVYHgQ1bT --plan enterprise --limit 90000',
      'org set org_4fzyo82mVYHgQ1bT --limit plan',
    ],
  });
  addFields(set, { required: false, limit: recordsOrPlan(limits) }).action(
    (organisationId: string, options: OrganisationOptions) =>
      context.present(options, setOrganisation(context, organisationId, options)),
  );

  defineCommand(organisations, {
    usage: 'show <org>',
    description: 'Show an organisation',
    examples: ['org show org_4fzyo82mVYHgQ1bT'],
  }).action((organisationId: string, options: OrganisationOptions) =>
    context.present(options, showOrganisation(context, organisationId)),
  );

  defineCommand(organisations, {
    usage: 'list',
    description: 'List all organisations, oldest first',
    examples: ['org list'],
  }).action((options: OrganisationOptions) => context.present(options, listOrganisations(context)));
}

const limits = { min: 1, max: 1_000_000_000_000 } as const;

function addFields(
  command: Command,
  { required, limit }: { readonly required: boolean; readonly limit: (text: string) => number | 'plan' },
): Command {
  const name = new Option('--name <name>', 'display name').argParser(plainText);
  const plan = new Option('--plan <plan>', 'the plan it has bought').choices(planNames);
  return command
    .addOption(name.makeOptionMandatory(required))
    .addOption(plan.makeOptionMandatory(required))
    .option(
      '--limit <records>',
      `included live records per month instead of the plan's limit${required ? '' : ' (the word plan restores it)'}; calls are refused at twice the limit`,
      limit,
    )
    .addOption(
      new Option(
        '--policy <policy>',
        'for models that have not passed validation: block (calls get 409) or warn (calls are scored); default for new organisations: warn',
      ).choices(['block', 'warn']),
    )
    .option('--trial-ends <date>', 'end of the trial (ISO 8601); default: 14 days from now', isoDate);
}

/** Parsed options of `org create` and `org set`. */
export interface OrganisationOptions {
  readonly name?: string;
  readonly plan?: PlanName;
  /** `plan` (only in `org set`) restores the plan's limit. */
  readonly limit?: number | 'plan';
  readonly policy?: DeployPolicy;
  readonly trialEnds?: Date;
  readonly json?: boolean;
}

const dayMs = 24 * 60 * 60 * 1000;

/** Creates an organisation. By default a trial ends after 14 days. */
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

/** Changes the given fields of an organisation. By default a new trial ends after 14 days. */
export async function setOrganisation(
  context: CliContext,
  organisationId: string,
  options: OrganisationOptions,
): Promise<CommandResult> {
  const { name, plan, limit, policy, trialEnds } = options;
  if ([name, plan, limit, policy, trialEnds].every((value) => value === undefined))
    throw usageError('Nothing to set. Give --name, --plan, --limit, --policy or --trial-ends');
  const { clock, connections } = context;
  const store = new OrganisationStore(await connections.preparedDatabase());
  const before = await requireOrganisation(store, organisationId);
  checkPlan(options, plan ?? before.plan);
  const startsTrial = plan === 'trial' && before.plan !== 'trial';
  const trial_ends_at = trialEnds ?? (startsTrial ? trialEnd(new Date(clock.now())) : undefined);
  const ownLimit = limit === 'plan' ? undefined : limit;
  const given = Object.entries({ name, plan, limit: ownLimit, policy, trial_ends_at });
  const fields: Partial<OrganisationFields> = Object.fromEntries(given.filter(([, value]) => value !== undefined));
  const absent = limit === 'plan' ? (['limit'] as const) : [];
  const organisation = (await store.update(organisationId, fields, absent)) ?? before;
  await announceChange(context, { kind: 'organisation', id: organisationId });
  const note = plan !== undefined && limit === undefined ? ownLimitNote(organisation) : '';
  return { document: documentOf(organisation), text: describe(organisation, clock.now()) + note };
}

export async function showOrganisation(
  { clock, connections }: CliContext,
  organisationId: string,
): Promise<CommandResult> {
  const store = new OrganisationStore(await connections.database());
  const organisation = await requireOrganisation(store, organisationId);
  return { document: documentOf(organisation), text: describe(organisation, clock.now()) };
}

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

/** @throws CliError when the organisation does not exist */
export async function requireOrganisation(store: OrganisationStore, organisationId: string): Promise<Organisation> {
  const organisation = await store.find(organisationId);
  if (organisation === undefined) throw notFound(`organisation ${organisationId}`, 'org list');
  return organisation;
}

const trialEnd = (now: Date): Date => new Date(now.getTime() + trialDays * dayMs);

/** Refuses settings that the plan ignores, because they would take effect unexpectedly on the next plan. */
function checkPlan({ limit, trialEnds }: OrganisationOptions, plan: PlanName): void {
  if (trialEnds !== undefined && plan !== 'trial')
    throw usageError(`--trial-ends needs the trial plan, but this organisation's plan is ${plan}`);
  if (typeof limit === 'number' && !hasLiveApi({ plan }))
    throw usageError(
      `--limit needs a plan with live records, and the plan ${plan} has none. Add --plan trial, pro or enterprise`,
    );
}

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
      `${readableCount(limit)} per month${isOwn ? ' (own limit)' : ''}, hard stop at ${readableCount(backstop ?? limit)}`,
    ],
    ['Deploy policy', policyWords[organisation.policy]],
    ['Created', `${readableDate(organisation.created_at)} UTC`],
  ]);
}

/** Points out that the organisation's own limit survives a change of plan, because buyers expect the plan's limit. */
function ownLimitNote({ _id, limit, plan }: Organisation): string {
  if (limit === undefined) return '';
  const effect = hasLiveApi({ plan }) ? 'stays in force' : 'returns on a plan with live records';
  return `\n\nIts own limit of ${readableCount(limit)} per month ${effect}.\nTo remove it: npx leadscore org set ${_id} --limit plan`;
}

const policyWords = {
  block: 'block (calls to models that have not passed validation get 409)',
  warn: 'warn (all models score, and each reply carries the verdict)',
} as const;
