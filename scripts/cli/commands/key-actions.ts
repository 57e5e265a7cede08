import { type ApiKey, ApiKeyStore, defaultRatePerSecond } from '../../../shared/store/api-keys.js';
import type { Db } from '../../../shared/store/connect.js';
import { type KeySettings, KeySettingsStore } from '../../../shared/store/key-settings.js';
import { OrganisationStore } from '../../../shared/store/organisations.js';
import { readableDate } from '../../terminal/readable-numbers.js';
import { renderFields, renderTable } from '../../terminal/table.js';
import { announceChange } from '../announce-change.js';
import { type CliContext, type CommandResult, lineWidth } from '../cli-context.js';
import { CliError, usageError } from '../cli-error.js';
import { requireOrganisation } from './organisation-actions.js';

/** What the options of the key commands hold after parsing. */
export interface KeyOptions {
  readonly test?: boolean;
  readonly name?: string;
  readonly rate?: number;
  readonly json?: boolean;
}

/** Creates a key; the answer is the only place where its secret ever appears. */
export async function createKey(
  { clock, config, connections }: CliContext,
  organisationId: string,
  options: KeyOptions,
): Promise<CommandResult> {
  const database = await connections.preparedDatabase();
  await requireOrganisation(new OrganisationStore(database), organisationId);
  const keySettings = { brand: config.keyBrand, pepper: config.keyPepper };
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
    ['Rate', `${key.rate_per_second} calls a second`],
    ['Secret', secret],
  ]);
  return {
    document: { ...documentOf(key), secret },
    text: `${text}\n\nThe secret is shown this once. Store it like a password; a lost one cannot be\nshown again, only replaced by a new key.`,
  };
}

/** Refuses to make a key that no gateway would know. */
async function requireSameSettings(database: Db, settings: KeySettings): Promise<void> {
  const others = (await new KeySettingsStore(database).compare(settings)).join(' and ');
  if (others === '') return;
  throw new CliError(
    `This command has another ${others} than the gateways, which would not know the key: set theirs. When you want to change ` +
      `${others}, start the gateways with the new one first; all keys made before are unknown then`,
    { code: 'other_key_settings' },
  );
}

/** Lists an organisation's keys. */
export async function listKeys(
  { connections, stdout }: CliContext,
  organisationId: string,
): Promise<CommandResult> {
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

/** Revokes a key, at once and for ever; again is no failure. */
export async function revokeKey(context: CliContext, keyId: string): Promise<CommandResult> {
  const { clock, config, connections } = context;
  if (keyId.startsWith(`${config.keyBrand}_sk_`))
    throw usageError('That is a secret; a key is revoked by its id (key_...): npx leadscore key list ORG');
  const store = new ApiKeyStore(await connections.preparedDatabase());
  const key = await store.revoke(keyId, new Date(clock.now()));
  if (key === undefined)
    throw new CliError(`There is no key ${keyId}. See: npx leadscore key list ORG`, { code: 'not_found' });
  await announceChange(context, { kind: 'key', id: key.hash });
  const revokedAt = key.revoked_at ?? new Date(clock.now());
  return {
    document: documentOf(key),
    text: `${key._id} (${key.name}) is revoked since ${readableDate(revokedAt)} UTC: calls with it get 401.`,
  };
}

/** What `--json` says of a key; never its secret or hash. */
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
  test: 'test (free bucket of 1000 records a month, hard stop)',
} as const;
