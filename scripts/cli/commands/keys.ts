import type { Command } from 'commander';
import {
  createKey as createKeyAction,
  listKeys as listKeysAction,
  revokeKey as revokeKeyAction,
} from '../../../shared/admin/organisations/key-actions.js';
import { type Scope, scopes } from '../../../shared/contract/roles.js';
import { defaultRatePerSecond } from '../../../shared/store/accounts/api-keys.js';
import { type CliContext, type CommandResult, lineWidth } from '../context/cli-context.js';
import { usageError } from '../context/cli-error.js';
import { perform } from '../context/perform.js';
import { readableDate } from '../output/readable-numbers.js';
import { type Columns, renderFields, tableOf } from '../output/table.js';
import { defineCommand, plainText, scopeList, wholeNumber } from './define-command.js';

/** Adds `key create`, `list` and `revoke`. */
export function addKeyCommands(program: Command, context: CliContext): void {
  const keys = program.command('key').description('API keys: create, list, revoke');

  defineCommand(keys, {
    usage: 'create <org>',
    description: 'Create an API key. Its secret is shown only once; the database stores a hash',
    examples: [
      'key create org_4fzyo82mVYHgQ1bT --name "HubSpot"',
      'key create org_4fzyo82mVYHgQ1bT --name "HubSpot" --scopes score,outcomes',
      'key create org_4fzyo82mVYHgQ1bT --test --json | jq -r .secret',
    ],
  })
    .option('--test', 'a test key: real scores, counted in a free bucket of 1000 records per month')
    .option('--name <name>', 'display name, such as the integration that uses the key', plainText)
    .option(
      '--rate <calls>',
      'scoring calls accepted per second',
      wholeNumber({ min: 1, max: 10_000 }),
      defaultRatePerSecond,
    )
    .option('--scopes <list>', `some of ${scopes.join(', ')}; without it the key may do everything`, scopeList)
    .action((organisationId: string, options: KeyOptions) =>
      context.present(options, createKey(context, organisationId, options)),
    );

  defineCommand(keys, {
    usage: 'list <org>',
    description: "List an organisation's keys, including revoked ones",
    examples: ['key list org_4fzyo82mVYHgQ1bT'],
  }).action((organisationId: string, options: KeyOptions) =>
    context.present(options, listKeys(context, organisationId)),
  );

  defineCommand(keys, {
    usage: 'revoke <key>',
    description: 'Revoke a key permanently. Takes the key id (key_...), not the secret',
    examples: ['key revoke key_0dKqvXb3JmZ81sUe'],
  }).action((keyId: string, options: KeyOptions) => context.present(options, revokeKey(context, keyId)));
}

/** Parsed options of the key commands. */
interface KeyOptions {
  readonly test?: boolean;
  readonly name?: string;
  readonly rate?: number;
  readonly scopes?: Scope[];
  readonly json?: boolean;
}

/** Creates a key. Its secret appears only in this result. */
async function createKey(context: CliContext, organisationId: string, options: KeyOptions): Promise<CommandResult> {
  const document = await perform(context, createKeyAction, {
    org_id: organisationId,
    kind: options.test === true ? 'test' : 'live',
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.rate === undefined ? {} : { rate_per_second: options.rate }),
    ...(options.scopes === undefined ? {} : { scopes: options.scopes }),
  });
  const text = renderFields([
    ['Key', document.key_id],
    ['Name', document.name],
    ['Kind', kindWords[document.kind]],
    ['Rate', `${document.rate_per_second} calls per second`],
    ['Scopes', scopesText(document)],
    ['Secret', document.secret],
  ]);
  return {
    document,
    text: `${text}\n\nThe secret is shown only once. Store it like a password. If you lose it,\ncreate a new key.`,
  };
}

async function listKeys(context: CliContext, organisationId: string): Promise<CommandResult> {
  const document = await perform(context, listKeysAction, { org_id: organisationId });
  const none = `No keys yet. Create one: npx leadscore key create ${organisationId}`;
  const columns: Columns<(typeof document.keys)[number]> = [
    ['Key', (key) => key.key_id, 'whole'],
    ['Name', (key) => key.name],
    ['Kind', (key) => key.kind],
    ['Scopes', scopesText],
    ['Calls/s', (key) => String(key.rate_per_second), 'right'],
    ['Created', (key) => key.created_at.slice(0, 10), 'whole'],
    ['Revoked', (key) => key.revoked_at?.slice(0, 10) ?? '', 'whole'],
  ];
  return { document, text: tableOf(document.keys, columns, { width: lineWidth(context.stdout), none }) };
}

/** Revokes a key permanently and at once. Idempotent: the first revocation time is kept. */
async function revokeKey(context: CliContext, keyId: string): Promise<CommandResult> {
  if (keyId.startsWith(`${context.config.keyBrand}_sk_`))
    throw usageError('The argument is a secret. Give the key id (key_...) instead. See: npx leadscore key list ORG');
  const document = await perform(context, revokeKeyAction, { key_id: keyId });
  const revokedAt = new Date(document.revoked_at ?? context.clock.now());
  return {
    document,
    text: `${document.key_id} (${document.name}) was revoked on ${readableDate(revokedAt)} UTC. Calls with it get 401.`,
  };
}

const scopesText = (key: { readonly scopes?: readonly Scope[] }): string => key.scopes?.join(', ') ?? 'everything';

const kindWords = {
  live: 'live',
  test: 'test (free bucket of 1000 records per month, hard stop)',
} as const;
