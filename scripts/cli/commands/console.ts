import { type Command, Option } from 'commander';
import {
  createLink,
  createToken as createTokenAction,
  listTokens as listTokensAction,
  revokeToken as revokeTokenAction,
} from '../../../shared/admin/people/access-actions.js';
import { type Role, roles } from '../../../shared/contract/roles.js';
import { type CliContext, type CommandResult, lineWidth } from '../context/cli-context.js';
import { usageError } from '../context/cli-error.js';
import { perform } from '../context/perform.js';
import { type Columns, renderFields, tableOf } from '../output/table.js';
import { addMemberCommands } from './console-members.js';
import { defineCommand, type JsonOption, plainText } from './define-command.js';

/** Parsed options of `console login`. */
interface LoginOptions extends JsonOption {
  readonly name: string;
  readonly role: Role;
}

/** Adds `console login`, and the commands of tokens and members. */
export function addConsoleCommands(program: Command, context: CliContext): void {
  const console = program.command('console').description('The console: one-time links, tokens for programs');

  defineCommand(console, {
    usage: 'login [org]',
    description: 'Make a link with which a person signs in to the console, once, within 15 minutes',
    examples: [
      'console login org_4fzyo82mVYHgQ1bT --name Ada --role admin',
      'console login --name "Olga (operations)" --role operator',
    ],
    notes:
      'viewer: overview, models, usage, audit log. admin: also keys, leads, playground, import,\n' +
      'Live API, promotion, rollback, override. owner: also deploy policy, erasing people, links.\n' +
      'operator: every organisation, plans, limits and queues; without an organisation.',
  })
    .requiredOption('--name <name>', 'the name of the person, for the audit log', plainText)
    .addOption(new Option('--role <role>', 'what the person may do').choices(roles).makeOptionMandatory())
    .action((organisationId: string | undefined, options: LoginOptions) =>
      context.present(options, login(context, organisationId, options)),
    );

  addMemberCommands(console, context);
  const tokens = console.command('token').description('Tokens for programs of the operator: create, list, revoke');
  defineCommand(tokens, {
    usage: 'create',
    description: 'Create a token with the rights of an operator. It is shown only once',
    examples: ['console token create --name "billing"'],
  })
    .requiredOption('--name <name>', 'the name of the program, for the audit log', plainText)
    .action((options: JsonOption & { readonly name: string }) =>
      context.present(options, createToken(context, options.name)),
    );
  defineCommand(tokens, { usage: 'list', description: 'List the tokens', examples: ['console token list'] }).action(
    (options: JsonOption) => context.present(options, listTokens(context)),
  );
  defineCommand(tokens, {
    usage: 'revoke <token>',
    description: 'Revoke a token at once. Takes the token id (tok_...)',
    examples: ['console token revoke tok_0dKqvXb3JmZ81sUe'],
  }).action((tokenId: string, options: JsonOption) => context.present(options, revokeToken(context, tokenId)));
}

async function login(
  context: CliContext,
  organisationId: string | undefined,
  { name, role }: LoginOptions,
): Promise<CommandResult> {
  if (role === 'operator' && organisationId !== undefined)
    throw usageError('An operator sees every organisation. Leave out the organisation, or give another --role');
  if (role !== 'operator' && organisationId === undefined)
    throw usageError(
      `The role ${role} needs an organisation: npx leadscore console login ORG --name NAME --role ${role}`,
    );
  const organisation = organisationId === undefined ? {} : { org_id: organisationId };
  const document = await perform(context, createLink, { ...organisation, name, role });
  const note = `It signs in ${name} as ${role}, once, within 15 minutes.`;
  return { document, text: `${document.url}\n\n${note}` };
}

async function createToken(context: CliContext, name: string): Promise<CommandResult> {
  const document = await perform(context, createTokenAction, { name });
  const text = renderFields([
    ['Token', document.token_id],
    ['Name', document.name],
    ['Secret', document.secret],
  ]);
  return { document, text: `${text}\n\nThe secret is shown only once. Send it as "Authorization: Bearer SECRET".` };
}

async function listTokens(context: CliContext): Promise<CommandResult> {
  const document = await perform(context, listTokensAction, {});
  const none = 'No tokens yet. Create one: npx leadscore console token create --name NAME';
  const columns: Columns<(typeof document.tokens)[number]> = [
    ['Token', (token) => token.token_id, 'whole'],
    ['Name', ({ name }) => name],
    ['Created', (token) => token.created_at.slice(0, 10), 'whole'],
  ];
  return { document, text: tableOf(document.tokens, columns, { width: lineWidth(context.stdout), none }) };
}

async function revokeToken(context: CliContext, tokenId: string): Promise<CommandResult> {
  await perform(context, revokeTokenAction, { token_id: tokenId });
  return { document: { token_id: tokenId }, text: `${tokenId} was revoked. Requests with it get 401.` };
}
