import { monthOf } from '../../contract/dates.js';
import type { ShapeOf } from '../../contract/schema.js';
import { type ApiKey, ApiKeyStore, defaultRatePerSecond } from '../../store/accounts/api-keys.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { CallDayStore } from '../../store/console/call-days.js';
import { defineAction } from '../action.js';
import { notFound } from '../admin-error.js';
import {
  createKeyInput,
  createKeyOutput,
  keySchema,
  listKeysInput,
  listKeysOutput,
  revokeKeyInput,
} from '../schemas/keys.js';
import { daysOf } from '../usage/show-usage.js';
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
  async run(context, input) {
    const { database, session, clock, record } = context;
    const { org_id: organisationId, kind = 'live', name = `${kind} key`, rate_per_second: rate, scopes } = input;
    await requireOrganisation(new OrganisationStore(database, session), organisationId);
    const settings = await checkedKeySettings(context, 'the gateways would reject this key');
    const { key, secret } = await new ApiKeyStore(database, session).create({
      organisationId,
      kind,
      name: name.trim(),
      ratePerSecond: rate ?? defaultRatePerSecond,
      scopes,
      ...settings,
      now: new Date(clock.now()),
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
    const shown = keys.map(async (key) => {
      const used = await store.lastUse(organisationId, key._id);
      const lastUse = used === undefined ? {} : { last_used_at: used.toISOString() };
      return { ...keyDocument(key), calls_this_month: calls.get(key._id) ?? 0, ...lastUse };
    });
    return { keys: await Promise.all(shown) };
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
  async run({ database, session, clock, record, announce }, { key_id: keyId, org_id: organisationId }) {
    const store = new ApiKeyStore(database, session);
    const before = await store.find(keyId);
    if (before === undefined || (organisationId !== undefined && before.organisation_id !== organisationId))
      throw notFound('key', keyId);
    announce({ kind: 'key', id: before.hash });
    if (before.revoked_at !== undefined) return keyDocument(before);
    const revoked = (await store.revoke(keyId, new Date(clock.now()))) ?? before;
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

/** A key without its secret and hash. */
const keyDocument = (key: ApiKey): ShapeOf<typeof keySchema> => ({
  key_id: key._id,
  org_id: key.organisation_id,
  name: key.name,
  kind: key.kind,
  rate_per_second: key.rate_per_second,
  ...(key.scopes === undefined ? {} : { scopes: [...key.scopes] }),
  created_at: key.created_at.toISOString(),
  ...(key.revoked_at === undefined ? {} : { revoked_at: key.revoked_at.toISOString() }),
});
