import { type Command, Option } from 'commander';
import { AdminError } from '../../../../shared/admin/admin-error.js';
import {
  createOrganisation as createOrganisationAction,
  setOrganisation as setOrganisationAction,
} from '../../../../shared/admin/organisations/change-organisations.js';
import { checkPlan } from '../../../../shared/admin/organisations/organisation-document.js';
import {
  listOrganisations as listOrganisationsAction,
  showOrganisation as showOrganisationAction,
} from '../../../../shared/admin/organisations/read-organisations.js';
import {
  resumeOrganisation as resumeOrganisationAction,
  suspendOrganisation as suspendOrganisationAction,
} from '../../../../shared/admin/organisations/suspension.js';
import type { organisationSchema } from '../../../../shared/admin/schemas/organisations.js';
import { hasLiveApi, isReadOnly, type PlanName, planNames } from '../../../../shared/contract/plans.js';
import type { ShapeOf } from '../../../../shared/contract/schema.js';
import type { DeployPolicy } from '../../../../shared/store/accounts/organisations.js';
import { type CliContext, type CommandResult, lineWidth } from '../../context/cli-context.js';
import { usageError } from '../../context/cli-error.js';
import { asCliError, perform } from '../../context/perform.js';
import { valueList } from '../../outcomes/value-options.js';
import { countText, readableDate } from '../../output/readable-numbers.js';
import { type Columns, renderFields, tableOf } from '../../output/table.js';
import { defineCommand, isoDate, plainText, recordsOrPlan, wholeNumber } from '../define-command.js';
import { addDeletionCommands } from './delete-organisation.js';
import { addExportCommand } from './export-organisation.js';

/** Adds `org create`, `set`, `show`, `list`, `suspend`, `resume`, `delete`, `undelete`, `receipts` and `export`. */
export function addOrganisationCommands(program: Command, context: CliContext): void {
  const organisations = program
    .command('org')
    .description('Organisations: plan, limit, deploy policy, trial, suspension');

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
      'org set org_4fzyo82mVYHgQ1bT --won-values "Closed Won" --lost-values "Closed Lost"',
    ],
  });
  const values = (meaning: string) =>
    `stages that mean ${meaning} in webhooks of outcomes, besides the usual words ("" removes them)`;
  addFields(set, { required: false, limit: recordsOrPlan(limits) })
    .option('--won-values <values>', values('won'), valuesOrNone)
    .option('--lost-values <values>', values('not won'), valuesOrNone)
    .action((organisationId: string, options: OrganisationOptions) =>
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

  addSuspensionCommands(organisations, context);
  addDeletionCommands(organisations, context, (document) => ({
    document: shown(document),
    text: describe(document, context.clock.now()),
  }));
  addExportCommand(organisations, context);
}

function addSuspensionCommands(organisations: Command, context: CliContext): void {
  defineCommand(organisations, {
    usage: 'suspend <org>',
    description: 'Stop all scoring of an organisation. Reading, outcomes and erasure go on',
    examples: ['org suspend org_4fzyo82mVYHgQ1bT --reason "invoice 1047 is not paid"'],
    notes:
      'Its scoring calls, new bulk jobs and the playground get 402 workspace_suspended within 5 seconds.\n' +
      'Running bulk jobs pause, and go on by themselves after `org resume`. A second suspension changes\nthe reason.',
  })
    .requiredOption(
      '--reason <reason>',
      'the reason, which the console shows to the people of the organisation',
      plainText,
    )
    .action((organisationId: string, options: OrganisationOptions & { readonly reason: string }) =>
      context.present(options, suspendOrganisation(context, organisationId, options.reason)),
    );

  defineCommand(organisations, {
    usage: 'resume <org>',
    description: 'End the suspension of an organisation. Jobs that it paused go on by themselves',
    examples: ['org resume org_4fzyo82mVYHgQ1bT'],
  }).action((organisationId: string, options: OrganisationOptions) =>
    context.present(options, resumeOrganisation(context, organisationId)),
  );
}

/** A list of values, or an empty one. */
const valuesOrNone = (text: string, before?: readonly string[]): readonly string[] =>
  text.trim() === '' ? [] : valueList(text, before);

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
interface OrganisationOptions {
  readonly name?: string;
  readonly plan?: PlanName;
  /** `plan` (only in `org set`) restores the plan's limit. */
  readonly limit?: number | 'plan';
  readonly policy?: DeployPolicy;
  readonly trialEnds?: Date;
  /** Only in `org set`. */
  readonly wonValues?: readonly string[];
  readonly lostValues?: readonly string[];
  readonly json?: boolean;
}

type OrganisationDocument = ShapeOf<typeof organisationSchema>;

/** `--json` shows the limit that applies. */
const shown = ({ own_limit: _, ...document }: OrganisationDocument) => document;

/** Creates an organisation. By default a trial ends after 14 days. */
async function createOrganisation(context: CliContext, options: OrganisationOptions): Promise<CommandResult> {
  const { name, plan, limit } = options;
  if (name === undefined || plan === undefined) throw usageError('--name and --plan are required');
  const given = { ...(typeof limit === 'number' ? { limit } : {}), ...settingsOf(options) };
  requirePlanFor(given, plan);
  const document = await perform(context, createOrganisationAction, { name, plan, ...given });
  const next = `Next: npx leadscore key create ${document.org_id}`;
  return { document: shown(document), text: `${describe(document, context.clock.now())}\n\n${next}` };
}

/** Changes the given fields of an organisation. By default a new trial ends after 14 days. */
async function setOrganisation(
  context: CliContext,
  organisationId: string,
  options: OrganisationOptions,
): Promise<CommandResult> {
  const { name, plan, limit, policy, trialEnds, wonValues, lostValues } = options;
  if ([name, plan, limit, policy, trialEnds, wonValues, lostValues].every((value) => value === undefined))
    throw usageError(
      'Nothing to set. Give --name, --plan, --limit, --policy, --trial-ends, --won-values or --lost-values',
    );
  const document = await perform(context, setOrganisationAction, {
    org_id: organisationId,
    ...(name === undefined ? {} : { name }),
    ...(plan === undefined ? {} : { plan }),
    ...(limit === undefined ? {} : { limit: limit === 'plan' ? null : limit }),
    ...settingsOf(options),
    ...(wonValues === undefined ? {} : { won_values: wonValues }),
    ...(lostValues === undefined ? {} : { lost_values: lostValues }),
  });
  const note = plan !== undefined && limit === undefined ? ownLimitNote(document) : '';
  return { document: shown(document), text: describe(document, context.clock.now()) + note };
}

/** Before a server is needed: the action checks it too. */
function requirePlanFor(given: Parameters<typeof checkPlan>[0], plan: PlanName): void {
  try {
    checkPlan(given, plan);
  } catch (error) {
    throw error instanceof AdminError ? asCliError(error) : error;
  }
}

const settingsOf = ({ policy, trialEnds }: OrganisationOptions) => ({
  ...(policy === undefined ? {} : { policy }),
  ...(trialEnds === undefined ? {} : { trial_ends_at: trialEnds.toISOString() }),
});

async function suspendOrganisation(
  context: CliContext,
  organisationId: string,
  reason: string,
): Promise<CommandResult> {
  const document = await perform(context, suspendOrganisationAction, { org_id: organisationId, reason });
  const next = `To end it: npx leadscore org resume ${organisationId}`;
  return { document: shown(document), text: `${describe(document, context.clock.now())}\n\n${next}` };
}

async function resumeOrganisation(context: CliContext, organisationId: string): Promise<CommandResult> {
  const document = await perform(context, resumeOrganisationAction, { org_id: organisationId });
  return { document: shown(document), text: describe(document, context.clock.now()) };
}

async function showOrganisation(context: CliContext, organisationId: string): Promise<CommandResult> {
  const document = await perform(context, showOrganisationAction, { org_id: organisationId });
  return { document: shown(document), text: describe(document, context.clock.now()) };
}

async function listOrganisations(context: CliContext): Promise<CommandResult> {
  const document = await perform(context, listOrganisationsAction, {});
  const none = 'No organisations yet. Create one: npx leadscore org create --name NAME --plan pro';
  const columns: Columns<(typeof document.organisations)[number]> = [
    ['Organisation', (organisation) => organisation.org_id, 'whole'],
    ['Name', (organisation) => organisation.name],
    [
      'Plan',
      ({ plan, suspended, deletion }) =>
        [plan, ...(suspended ? ['suspended'] : []), ...(deletion ? ['to be deleted'] : [])].join(', '),
    ],
    ['Limit', (organisation) => countText(organisation.limit), 'right'],
    ['Policy', (organisation) => organisation.policy],
    ['Created', (organisation) => organisation.created_at.slice(0, 10), 'whole'],
  ];
  return {
    document: { organisations: document.organisations.map(shown) },
    text: tableOf(document.organisations, columns, { width: lineWidth(context.stdout), none }),
  };
}

function describe(organisation: OrganisationDocument, nowMs: number): string {
  const { plan, limit, backstop, own_limit: ownLimit, trial_ends_at: ends, won_values, lost_values } = organisation;
  const { suspended, deletion } = organisation;
  const trialEnds = ends === undefined ? undefined : new Date(ends);
  const isOver = trialEnds !== undefined && isReadOnly({ plan, trial_ends_at: trialEnds }, nowMs);
  return renderFields([
    ['Organisation', organisation.org_id],
    ['Name', organisation.name],
    ['To be deleted', deletion && `from ${readableDate(new Date(deletion.due_at))} UTC on (calls get 401)`],
    ['Ordered by', deletion && `${deletion.by}, ${readableDate(new Date(deletion.requested_at))} UTC`],
    ['Suspended', suspended && `since ${readableDate(new Date(suspended.since))} UTC (scoring calls get 402)`],
    ['Suspended by', suspended?.by],
    ['Reason', suspended?.reason],
    ['Plan', plan + (plan === 'free' ? ' (no live API)' : '')],
    [
      'Trial ends',
      trialEnds && `${readableDate(trialEnds)} UTC${isOver ? ' (over: read-only, live and test calls get 402)' : ''}`,
    ],
    [
      'Live records',
      `${countText(limit)} per month${ownLimit !== undefined && hasLiveApi({ plan }) ? ' (own limit)' : ''}, hard stop at ${countText(backstop ?? limit)}`,
    ],
    ['Deploy policy', policyWords[organisation.policy]],
    ['Won values', won_values?.join(', ')],
    ['Lost values', lost_values?.join(', ')],
    ['Created', `${readableDate(new Date(organisation.created_at))} UTC`],
  ]);
}

/** Points out that the organisation's own limit survives a change of plan, because buyers expect the plan's limit. */
function ownLimitNote({ org_id, own_limit: limit, plan }: OrganisationDocument): string {
  if (limit === undefined) return '';
  const effect = hasLiveApi({ plan }) ? 'stays in force' : 'returns on a plan with live records';
  return `\n\nIts own limit of ${countText(limit)} per month ${effect}.\nTo remove it: npx leadscore org set ${org_id} --limit plan`;
}

const policyWords = {
  block: 'block (calls to models that have not passed validation get 409)',
  warn: 'warn (all models score, and each reply carries the verdict)',
} as const;
