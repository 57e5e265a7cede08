import type { Command } from 'commander';
import { type ApiKey, ApiKeyStore, defaultRatePerSecond } from '../../../shared/store/accounts/api-keys.js';
import { type KeySettings, KeySettingsStore } from '../../../shared/store/accounts/key-settings.js';
import { OrganisationStore } from '../../../shared/store/accounts/organisations.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { type CliContext, type CommandResult, lineWidth } from '../context/cli-context.js';
import { CliError, notFound, usageError } from '../context/cli-error.js';
import { announceChange } from '../context/connections.js';
import { readableDate } from '../output/readable-numbers.js';
import { renderFields, renderTable } from '../output/table.js';
import { defineCommand, plainText, wholeNumber } from './define-command.js';
import { requireOrganisation } from './organisations.js';

/** Adds `key create`, `list` and `revoke`. */
export function addKeyCommands(program: Command, context: CliContext): void {
  const keys = program.command('key').description('API keys: create, list, revoke');

  defineCommand(keys, {
    usage: 'create <org>',
    description: 'Create an API key. Its secret is shown only once; the database stores a hash',
    examples: [
      'key create org_4fzyo82mVYHgQ1bT --name "HubSpot"',
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
export interface KeyOptions {
  readonly test?: boolean;
  readonly name?: string;
  readonly rate?: number;
  readonly json?: boolean;
}

/** Creates a key. Its secret appears only in this result. */
export async function createKey(
  { clock, config, connections }: CliContext,
  organisationId: string,
  options: KeyOptions,
): Promise<CommandResult> {
  const database = await connections.preparedDatabase();
  await requireOrganisation(new OrganisationStore(database), organisationId);
  const keySettings = { brand: config.keyBrand, pepper: await connections.keyPepper() };
  await requireSameSettings(database, keySettings);
  const kind = options.test === true ? 'test' : 'live';
  const { key, secret } = await new ApiKeyStore(database).create({
    organisationId,
    kind,
    name: options.name ?? `${kind} key`,
    ratePerSecond: options.rate ?? defaultRatePerSecond,
    ...keySettings,
    now: new Date(clock.now()),
  });
  const text = renderFields([
    ['Key', key._id],
    ['Name', key.name],
    ['Kind', kindWords[kind]],
    ['Rate', `${key.rate_per_second} calls per second`],
    ['Secret', secret],
  ]);
  return {
    document: { ...documentOf(key), secret },
    text: `${text}\n\nThe secret is shown only once. Store it like a password. If you lose it,\ncreate a new key.`,
  };
}

/** Refuses to create a key that the gateways would reject. */
async function requireSameSettings(database: Db, settings: KeySettings): Promise<void> {
  const different = await new KeySettingsStore(database).compare(settings);
  if (different.length === 0) return;
  const names = different.join(' and ');
  const [verb, value] = different.length === 1 ? ['differs', 'value'] : ['differ', 'values'];
  throw new CliError(
    `${names} ${verb} from the gateways' ${value}, so they would reject this key. Set the same ${names} and run the ` +
      `command again. To change ${names}, first restart the gateways with the new ${value}; all existing keys then stop working`,
    { code: 'other_key_settings' },
  );
}

export async function listKeys({ connections, stdout }: CliContext, organisationId: string): Promise<CommandResult> {
  const database = await connections.database();
  await requireOrganisation(new OrganisationStore(database), organisationId);
  const keys = await new ApiKeyStore(database).list(organisationId);
  const columns = [
    { name: 'Key', whole: true },
    { name: 'Name' },
    { name: 'Kind' },
    { name: 'Calls/s', align: 'right' },
    { name: 'Created', whole: true },
    { name: 'Revoked', whole: true },
  ] as const;
  const rows = keys.map((key) => [
    key._id,
    key.name,
    key.kind,
    String(key.rate_per_second),
    key.created_at.toISOString().slice(0, 10),
    key.revoked_at?.toISOString().slice(0, 10) ?? '',
  ]);
  const none = `No keys yet. Create one: npx leadscore key create ${organisationId}`;
  return {
    document: { keys: keys.map(documentOf) },
    text: rows.length === 0 ? none : renderTable(columns, rows, { width: lineWidth(stdout) }),
  };
}

/** Revokes a key permanently and at once. Idempotent: the first revocation time is kept. */
export async function revokeKey(context: CliContext, keyId: string): Promise<CommandResult> {
  const { clock, config, connections } = context;
  if (keyId.startsWith(`${config.keyBrand}_sk_`))
    throw usageError('The argument is a secret. Give the key id (key_...) instead. See: npx leadscore key list ORG');
  const store = new ApiKeyStore(await connections.preparedDatabase());
  const key = await store.revoke(keyId, new Date(clock.now()));
  if (key === undefined) throw notFound(`key ${keyId}`, 'key list ORG');
  await announceChange(context, { kind: 'key', id: key.hash });
  const revokedAt = key.revoked_at ?? new Date(clock.now());
  return {
    document: documentOf(key),
    text: `${key._id} (${key.name}) was revoked on ${readableDate(revokedAt)} UTC. Calls with it get 401.`,
  };
}

/** Document of a key, without its secret and hash. */
const documentOf = (key: ApiKey): Record<string, unknown> => ({
  key_id: key._id,
  org_id: key.organisation_id,
  name: key.name,
  kind: key.kind,
  rate_per_second: key.rate_per_second,
  created_at: key.created_at,
  ...(key.revoked_at === undefined ? {} : { revoked_at: key.revoked_at }),
});

const kindWords = {
  live: 'live',
  test: 'test (free bucket of 1000 records per month, hard stop)',
} as const;
