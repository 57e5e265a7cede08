import type { Command } from 'commander';
import {
  createKey as createKeyAction,
  findKey as findKeyAction,
  listKeys as listKeysAction,
  revokeKey as revokeKeyAction,
  setKey as setKeyAction,
} from '../../../../shared/admin/organisations/key-actions.js';
import type { findKeyOutput, keySchema, listKeysOutput } from '../../../../shared/admin/schemas/keys.js';
import { expiryText } from '../../../../shared/contract/dates.js';
import { type Scope, scopes } from '../../../../shared/contract/roles.js';
import type { ShapeOf } from '../../../../shared/contract/schema.js';
import { defaultRatePerSecond } from '../../../../shared/store/accounts/api-keys.js';
import { type CliContext, type CommandResult, exitWhen, lineWidth } from '../../context/cli-context.js';
import { usageError } from '../../context/cli-error.js';
import { perform } from '../../context/perform.js';
import { readableDate } from '../../output/readable-numbers.js';
import { type Columns, renderFields, tableOf } from '../../output/table.js';
import { defineCommand, expiryDate, plainText, scopeList, wholeNumber } from '../define-command.js';
import { addPepperCommand } from './key-pepper.js';

/** Adds `key create`, `list`, `find`, `set`, `revoke` and `pepper`. */
export function addKeyCommands(program: Command, context: CliContext): void {
  const keys = program.command('key').description('API keys: create, list, find, set, revoke, pepper');

  defineCommand(keys, {
    usage: 'create <org>',
    description: 'Create an API key. Its secret is shown only once; the database stores a hash',
    examples: [
      'key create org_4fzyo82mVYHgQ1bT --name "HubSpot"',
      'key create org_4fzyo82mVYHgQ1bT --name "HubSpot" --scopes score,outcomes --expires 2027-06-30',
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
    .option('--scopes <list>', `some of ${scopes.join(', ')}; default: all`, scopeList)
    .option('--expires <date>', `${expiryMeaning}; default: never`, expiryDate)
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
    usage: 'find',
    description: 'Name the key that has a secret. Reads the secret from standard input',
    examples: ['key find', 'key find --json < secret.txt'],
    notes:
      'A terminal does not show what you paste. The secret may stand in a line of settings.\n' +
      'Exit code 1: no key has it.',
  }).action((options: KeyOptions) => context.present(options, findKey(context)));

  defineCommand(keys, {
    usage: 'set <key>',
    description: 'Change name, rate, scopes and expiry of a key in use. Its secret stays',
    examples: [
      'key set key_0dKqvXb3JmZ81sUe --scopes score --expires 2027-06-30',
      'key set key_0dKqvXb3JmZ81sUe --scopes all --expires never',
      'key set key_0dKqvXb3JmZ81sUe --name "HubSpot, EU" --rate 50',
    ],
    notes: 'Running gateways apply it within 5 seconds. A later date also makes an expired key valid\nagain.',
  })
    .option('--name <name>', 'display name, such as the integration that uses the key', plainText)
    .option('--rate <calls>', 'scoring calls accepted per second', wholeNumber({ min: 1, max: 10_000 }))
    .option('--scopes <list>', `some of ${scopes.join(', ')}, or all`, scopeList)
    .option('--expires <date>', `${expiryMeaning}, or never`, expiryDate)
    .action((keyId: string, options: KeyOptions) => context.present(options, setKey(context, keyId, options)));

  defineCommand(keys, {
    usage: 'revoke <key>',
    description: 'Revoke a key permanently. Takes the key id (key_...), not the secret',
    examples: ['key revoke key_0dKqvXb3JmZ81sUe'],
  }).action((keyId: string, options: KeyOptions) => context.present(options, revokeKey(context, keyId)));

  addPepperCommand(keys, context);
}

const expiryMeaning = 'a day, at whose end (UTC) the key expires, or an ISO 8601 date and time';

/** Parsed options of the key commands. */
interface KeyOptions {
  readonly test?: boolean;
  readonly name?: string;
  readonly rate?: number;
  readonly scopes?: Scope[] | 'all';
  /** A date, or `never`. */
  readonly expires?: string;
  readonly json?: boolean;
}

/** Creates a key. Its secret appears only in this result. */
async function createKey(context: CliContext, organisationId: string, options: KeyOptions): Promise<CommandResult> {
  const { scopes: given, expires } = options;
  const document = await perform(context, createKeyAction, {
    org_id: organisationId,
    kind: options.test === true ? 'test' : 'live',
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.rate === undefined ? {} : { rate_per_second: options.rate }),
    ...(given === undefined || given === 'all' ? {} : { scopes: given }),
    ...(expires === undefined || expires === 'never' ? {} : { expires_at: expires }),
  });
  const text = renderFields([...fieldsOf(document), ['Secret', document.secret]]);
  return {
    document,
    text: `${text}\n\nThe secret is shown only once. Store it like a password. If you lose it,\ncreate a new key.`,
  };
}

async function listKeys(context: CliContext, organisationId: string): Promise<CommandResult> {
  const document = await perform(context, listKeysAction, { org_id: organisationId });
  const none = `No keys yet. Create one: npx leadscore key create ${organisationId}`;
  const columns: Columns<ListedKey> = [
    ['Key', (key) => key.key_id, 'whole'],
    ['Name', (key) => key.name],
    ['Kind', (key) => key.kind],
    ['Scopes', scopesText],
    ['Calls/s', (key) => String(key.rate_per_second), 'right'],
    ['Last used', (key) => key.last_used_at?.slice(0, 10) ?? 'never', 'whole'],
    ['State', stateText],
  ];
  return { document, text: tableOf(document.keys, columns, { width: lineWidth(context.stdout), none }) };
}

/** Names the key with the secret of standard input. */
async function findKey(context: CliContext): Promise<CommandResult> {
  const secret = await context.readSecret('Paste the secret, then press Enter: ');
  const document = await perform(context, findKeyAction, { secret });
  const { key, is_whole: isWhole } = document;
  const none = isWhole
    ? 'No key has this secret. It may be a key of another installation.'
    : `This is no whole secret. It begins with ${context.config.keyBrand}_sk_. Paste it from its first to its last character.`;
  return { document, text: key === undefined ? none : renderFields(foundFields(key)), ...exitWhen(key === undefined) };
}

/** Changes name, rate, scopes and expiry of a key. */
async function setKey(context: CliContext, keyId: string, options: KeyOptions): Promise<CommandResult> {
  const { name, rate, scopes: given, expires } = options;
  if ([name, rate, given, expires].every((value) => value === undefined))
    throw usageError('Nothing to set. Give --name, --rate, --scopes or --expires');
  refuseSecret(context, keyId);
  const document = await perform(context, setKeyAction, {
    key_id: keyId,
    ...(name === undefined ? {} : { name }),
    ...(rate === undefined ? {} : { rate_per_second: rate }),
    ...(given === undefined ? {} : { scopes: given === 'all' ? null : given }),
    ...(expires === undefined ? {} : { expires_at: expires === 'never' ? null : expires }),
  });
  return { document, text: renderFields(fieldsOf(document)) };
}

/** Revokes a key permanently and at once. Idempotent: the first revocation time is kept. */
async function revokeKey(context: CliContext, keyId: string): Promise<CommandResult> {
  refuseSecret(context, keyId);
  const document = await perform(context, revokeKeyAction, { key_id: keyId });
  const revokedAt = new Date(document.revoked_at ?? context.clock.now());
  return {
    document,
    text: `${document.key_id} (${document.name}) was revoked on ${readableDate(revokedAt)} UTC. Calls with it get 401.`,
  };
}

function refuseSecret({ config }: CliContext, keyId: string): void {
  if (keyId.startsWith(`${config.keyBrand}_sk_`))
    throw usageError('The argument is a secret. Give the key id (key_...) instead. See: npx leadscore key list ORG');
}

type ListedKey = ShapeOf<typeof listKeysOutput>['keys'][number];
type KeyDocument = ShapeOf<typeof keySchema>;

const fieldsOf = (key: KeyDocument): [name: string, value: string][] => [
  ['Key', key.key_id],
  ['Name', key.name],
  ['Kind', kindWords[key.kind]],
  ['Rate', `${key.rate_per_second} calls per second`],
  ['Scopes', scopesText(key)],
  ['Expires', key.expires_at === undefined ? 'never' : expiryText(new Date(key.expires_at))],
];

const foundFields = (key: NonNullable<ShapeOf<typeof findKeyOutput>['key']>): [name: string, value: string][] => [
  ['Organisation', key.org_id],
  ...fieldsOf(key),
  ['Last used', key.last_used_at?.slice(0, 10) ?? 'never'],
  ['State', stateText(key)],
];

/** The state of a key with the last day on which it can be used, or on which it was revoked. */
function stateText({ state, expires_at: expires, revoked_at: revoked }: Omit<ListedKey, 'calls_this_month'>): string {
  if (revoked !== undefined) return `revoked ${revoked.slice(0, 10)}`;
  if (state === 'withdrawn') return 'withdrawn: its organisation is to be deleted';
  if (expires === undefined) return state;
  const lastDay = new Date(Date.parse(expires) - 1).toISOString().slice(0, 10);
  return `${state === 'expired' ? state : 'valid until'} ${lastDay}`;
}

const scopesText = (key: { readonly scopes?: readonly Scope[] }): string => key.scopes?.join(', ') ?? 'everything';

const kindWords = {
  live: 'live',
  test: 'test (free bucket of 1000 records per month, hard stop)',
} as const;
