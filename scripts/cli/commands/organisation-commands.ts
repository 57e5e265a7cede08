import { type Command, Option } from 'commander';
import { planNames } from '../../../shared/plans.js';
import type { CliContext } from '../cli-context.js';
import { defineCommand } from '../define-command.js';
import { isoDate, plainText, recordsOrPlan, wholeNumber } from '../option-values.js';
import {
  createOrganisation,
  listOrganisations,
  type OrganisationOptions,
  setOrganisation,
  showOrganisation,
} from './organisation-actions.js';

/** Adds `org create`, `org set`, `org show` and `org list`. */
export function addOrganisationCommands(program: Command, context: CliContext): void {
  const organisations = program
    .command('org')
    .description('Organisations: plan, limits, deploy policy, trial');

  const create = defineCommand(organisations, {
    usage: 'create',
    description: 'Create an organisation',
    examples: [
      'org create --name "Acme" --plan pro',
      'org create --name "Beta" --plan trial --trial-ends 2026-12-31',
    ],
  });
  addFields(create, { required: true, limit: wholeNumber(limits) }).action((options: OrganisationOptions) =>
    context.present(options, createOrganisation(context, options)),
  );

  const set = defineCommand(organisations, {
    usage: 'set <org>',
    description: 'Change what is given, leave the rest',
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

const limits = { least: 1, most: 1_000_000_000_000 } as const;

function addFields(
  command: Command,
  { required, limit }: { readonly required: boolean; readonly limit: (text: string) => number | 'plan' },
): Command {
  const name = new Option('--name <name>', 'what people call it').argParser(plainText);
  const plan = new Option('--plan <plan>', 'what it has bought').choices(planNames);
  return command
    .addOption(name.makeOptionMandatory(required))
    .addOption(plan.makeOptionMandatory(required))
    .option(
      '--limit <records>',
      `included live records a month, instead of the plan's${required ? '' : ' (or the word plan, to go back to those)'}; calls stop at twice as many`,
      limit,
    )
    .addOption(
      new Option(
        '--policy <policy>',
        'what happens to models that have not passed validation: block (409) or warn (score); new ones: warn',
      ).choices(['block', 'warn']),
    )
    .option('--trial-ends <date>', 'when a trial ends (ISO 8601); 14 days from now by default', isoDate);
}
