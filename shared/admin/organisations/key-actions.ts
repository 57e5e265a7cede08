import { monthOf } from '../../contract/dates.js';
import { parseSecret, secretIn } from '../../contract/identifiers.js';
import { orderedScopes } from '../../contract/roles.js';
import type { ShapeOf } from '../../contract/schema.js';
import {
  type ApiKey,
  ApiKeyStore,
  changesOfKey,
  defaultRatePerSecond,
  isExpired,
  secretHashes,
} from '../../store/accounts/api-keys.js';
import { KeySettingsStore } from '../../store/accounts/key-settings.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { CallDayStore } from '../../store/console/call-days.js';
import { type ActionContext, type AdminContext, defineAction, difference } from '../action.js';
import { AdminError, notFound } from '../admin-error.js';
import { refuseForOlderProcesses } from '../older-processes.js';
import {
  createKeyInput,
  createKeyOutput,
  findKeyInput,
  findKeyOutput,
  keySchema,
  listKeysInput,
  listKeysOutput,
  revokeKeyInput,
  setKeyInput,
} from '../schemas/keys.js';
import { daysOf } from '../usage/show-usage.js';
import { checkedExpiry } from './key-limits.js';
import { checkedKeySettings } from './key-settings.js';
import { requireOrganisation } from './organisation-document.js';

/** Creates a key. Its secret appears only in this result. */
export const createKey = defineAction({
  name: 'key.create',
  description: 'Create an API key. Its secret is in this reply alone.',
  role: 'admin',
  effect: 'change',
  input: createKeyInput,
  output: createKeyOutput,
  prepare: refuseUnkept,
  async run(context, input) {
    const { database, session, clock, record } = context;
    const { org_id: organisationId, kind = 'live', name = `${kind} key`, rate_per_second: rate, scopes } = input;
    const nowMs = clock.now();
    await requireOrganisation(new OrganisationStore(database, session), organisationId);
    const settings = await checkedKeySettings(context, 'the gateways would reject this key');
    const { key, secret } = await new ApiKeyStore(database, session).create({
      organisationId,
      kind,
      name: name.trim(),
      ratePerSecond: rate ?? defaultRatePerSecond,
      scopes: scopes && orderedScopes(scopes),
      expiresAt: input.expires_at === undefined ? undefined : checkedExpiry(input.expires_at, nowMs),
      ...(await new KeySettingsStore(database).forNewKey(settings)),
      now: new Date(nowMs),
    });
    const document = keyDocument(key);
    await record({ organisationId, target: key._id, after: document });
    return { ...document, secret };
  },
});

export const listKeys = defineAction({
  name: 'key.list',
  description: "List an organisation's API keys, also revoked ones, oldest first.",
  role: 'admin',
  effect: 'read',
  input: listKeysInput,
  output: listKeysOutput,
  async run(context, { org_id: organisationId }) {
    const { database, clock } = context;
    await requireOrganisation(new OrganisationStore(database), organisationId);
    const keys = await new ApiKeyStore(database).list(organisationId);
    const store = new CallDayStore(database);
    const calls = await store.callsByKey(daysOf(organisationId, monthOf(clock.now())));
    const settings = await new KeySettingsStore(database).read();
    const isRollOut = settings?.previous_fingerprint !== undefined;
    const lacksHash = ({ revoked_at: revoked, pepper_fingerprint: pepper }: ApiKey): boolean =>
      isRollOut && revoked === undefined && pepper !== settings.pepper_fingerprint;
    const uses = await store.lastUses(organisationId);
    const shown = keys.map((key) => ({
      ...usedDocument(key, uses.get(key._id), clock.now()),
      calls_this_month: calls.get(key._id) ?? 0,
      ...(lacksHash(key) && { needs_call: true }),
    }));
    return { keys: shown };
  },
});

/** Names the key that has a secret. An unknown secret and one of another organisation have the same answer. */
export const findKey = defineAction({
  name: 'key.find',
  description: 'Name the API key that has a secret. Nothing is stored.',
  role: 'admin',
  effect: 'read',
  input: findKeyInput,
  output: findKeyOutput,
  async run(context, { org_id: organisationId, secret: given }) {
    const settings = await checkedKeySettings(context, 'no key would be found', 'compare');
    const secret = secretIn(given, settings.brand);
    if (secret === undefined || parseSecret(secret, settings.brand) === undefined) return { is_whole: false };
    const key = await new ApiKeyStore(context.database).findByHash(...secretHashes(secret, settings));
    const isShown = organisationId === undefined || key?.organisation_id === organisationId;
    if (key === undefined || !isShown) return { is_whole: true };
    const used = await new CallDayStore(context.database).lastUse(key.organisation_id, key._id);
    return { is_whole: true, key: usedDocument(key, used, context.clock.now()) };
  },
});

/** Changes name, rate, scopes and expiry of a key in use. Its secret stays. */
export const setKey = defineAction({
  name: 'key.set',
  description: 'Change name, rate, scopes and expiry of an API key, also of an expired one. Its secret stays.',
  role: 'admin',
  effect: 'change',
  input: setKeyInput,
  output: keySchema,
  prepare: refuseUnkept,
  async run(context, input) {
    const { database, session, clock, record, announce } = context;
    const { name, rate_per_second: rate, scopes, expires_at: expires } = input;
    const before = await requireKey(context, input);
    const keyId = before._id;
    const change = {
      name: name?.trim(),
      rate_per_second: rate,
      scopes: scopes && orderedScopes(scopes),
      expires_at: typeof expires === 'string' ? checkedExpiry(expires, clock.now()) : expires,
    };
    if (before.revoked_at !== undefined)
      throw new AdminError('conflict', `The key ${keyId} is revoked, and cannot be changed. Create another key.`);
    if (Object.values(change).every((value) => value === undefined)) return keyDocument(before);
    const document = keyDocument((await new ApiKeyStore(database, session).set(keyId, change)) ?? before);
    changesOfKey(before).forEach(announce);
    const changed = difference(keyDocument(before), document);
    await record({ organisationId: before.organisation_id, target: keyId, ...changed });
    return document;
  },
});

/** Revokes a key permanently. Idempotent: the first revocation time is kept. */
export const revokeKey = defineAction({
  name: 'key.revoke',
  description: 'Revoke an API key permanently. Calls with it get 401.',
  role: 'admin',
  effect: 'change',
  input: revokeKeyInput,
  output: keySchema,
  async run(context, input) {
    const { database, session, clock, record, announce } = context;
    const before = await requireKey(context, input);
    const keyId = before._id;
    changesOfKey(before).forEach(announce);
    if (before.revoked_at !== undefined) return keyDocument(before);
    const revoked = (await new ApiKeyStore(database, session).revoke(keyId, new Date(clock.now()))) ?? before;
    const document = keyDocument(revoked);
    const { name, revoked_at } = document;
    await record({
      organisationId: revoked.organisation_id,
      target: keyId,
      before: { name },
      after: { name, revoked_at },
    });
    return document;
  },
});

/** Refuses limits that a running process would not keep. */
async function refuseUnkept(
  context: AdminContext,
  { scopes, expires_at: expires }: Pick<ShapeOf<typeof setKeyInput>, 'scopes' | 'expires_at'>,
  _material: undefined,
): Promise<void> {
  if (!scopes && !expires) return;
  await refuseForOlderProcesses(context, { change: 'scopes and expiry', kinds: ['gateway', 'bulk'] });
}

/** @throws AdminError not_found, also for a key of another organisation than the named one */
async function requireKey(
  { database, session }: ActionContext,
  { key_id: keyId, org_id: organisationId }: ShapeOf<typeof revokeKeyInput>,
): Promise<ApiKey> {
  const key = await new ApiKeyStore(database, session).find(keyId);
  if (key === undefined || (organisationId !== undefined && key.organisation_id !== organisationId))
    throw notFound('key', keyId);
  return key;
}

type KeyState = NonNullable<ShapeOf<typeof findKeyOutput>['key']>['state'];

function stateOf(key: ApiKey, nowMs: number): KeyState {
  if (key.revoked_at !== undefined) return 'revoked';
  if (key.withdrawn) return 'withdrawn';
  return isExpired(key, nowMs) ? 'expired' : 'valid';
}

/** A key with its state and its last use. */
const usedDocument = (
  key: ApiKey,
  used: Date | undefined,
  nowMs: number,
): NonNullable<ShapeOf<typeof findKeyOutput>['key']> => ({
  ...keyDocument(key),
  state: stateOf(key, nowMs),
  ...(used === undefined ? {} : { last_used_at: used.toISOString() }),
});

/** A key without its secret and hash. */
const keyDocument = (key: ApiKey): ShapeOf<typeof keySchema> => ({
  key_id: key._id,
  org_id: key.organisation_id,
  name: key.name,
  kind: key.kind,
  rate_per_second: key.rate_per_second,
  ...(key.scopes === undefined ? {} : { scopes: [...key.scopes] }),
  created_at: key.created_at.toISOString(),
  ...(key.expires_at === undefined ? {} : { expires_at: key.expires_at.toISOString() }),
  ...(key.revoked_at === undefined ? {} : { revoked_at: key.revoked_at.toISOString() }),
});
