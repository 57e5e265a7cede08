import { scopes } from '../../contract/roles.js';
import { closedObject, count, instant, list, text } from '../../contract/schema.js';
import { bucket, keyId, name, organisationId } from './members.js';

const scopeList = { type: 'array', items: { type: 'string', enum: scopes }, minItems: 1, uniqueItems: true } as const;

const keyMembers = {
  key_id: text,
  org_id: text,
  name: text,
  kind: bucket,
  /** Scoring calls accepted in any second. */
  rate_per_second: count,
  /** Absent: the key may do everything. */
  'scopes?': scopeList,
  created_at: instant,
  'revoked_at?': instant,
} as const;

export const keySchema = closedObject(keyMembers);

export const listKeysInput = closedObject({ org_id: organisationId });
export const listKeysOutput = closedObject({
  keys: list(
    closedObject({
      ...keyMembers,
      /** Absent if no call of the last 400 days is known. Up to a minute late. */
      'last_used_at?': instant,
      'calls_this_month?': count,
    }),
  ),
});

export const createKeyInput = closedObject({
  org_id: organisationId,
  'name?': name,
  'kind?': bucket,
  'rate_per_second?': { type: 'integer', minimum: 1, maximum: 10_000 },
  'scopes?': scopeList,
});
/** The secret is shown once. */
export const createKeyOutput = closedObject({ ...keyMembers, secret: text });

export const revokeKeyInput = closedObject({ 'org_id?': organisationId, key_id: keyId });
