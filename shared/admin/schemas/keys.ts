import { scopes } from '../../contract/roles.js';
import { closedObject, count, described, flag, instant, instantOrNull, list, text } from '../../contract/schema.js';
import { bucket, keyId, name, organisationId } from './members.js';

const scopeList = { type: 'array', items: { type: 'string', enum: scopes }, minItems: 1, uniqueItems: true } as const;
const expiry = 'A day such as 2027-06-30, at whose end (UTC) the key expires, or a date and time.';

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
  /** Absent: it has no end. */
  'expires_at?': described('From this instant on, calls with the key get 401.', instant),
  'revoked_at?': instant,
} as const;

export const keySchema = closedObject(keyMembers);

/** A key as it is used. */
const usedMembers = {
  ...keyMembers,
  /** `withdrawn`: its organisation is to be deleted. Calls with such a key get 401. */
  state: { type: 'string', enum: ['valid', 'expired', 'revoked', 'withdrawn'] },
  /** Absent if no call of the last 400 days is known. Up to a minute late. */
  'last_used_at?': instant,
} as const;
/** Scoring calls accepted in any second. */
const rate = { type: 'integer', minimum: 1, maximum: 10_000 } as const;

export const listKeysInput = closedObject({ org_id: organisationId });
export const listKeysOutput = closedObject({
  keys: list(
    closedObject({
      ...usedMembers,
      'calls_this_month?': count,
      'needs_call?': described(
        'Present while a new pepper is rolled out, until a call with the key. A key without one is revoked at the end.',
        flag,
      ),
    }),
  ),
});

/** Without an organisation, the keys of all are searched. */
export const findKeyInput = closedObject({
  'org_id?': organisationId,
  secret: described(
    'The secret of a key, also within a header or a line of settings. It is neither stored nor logged.',
    {
      type: 'string',
      minLength: 1,
      maxLength: 1_000,
    },
  ),
});
export const findKeyOutput = closedObject({
  is_whole: described('Whether the text has a secret whose form and checksum are right.', flag),
  'key?': described('Absent: no key has this secret, or one of another organisation.', closedObject(usedMembers)),
});

export const createKeyInput = closedObject({
  org_id: organisationId,
  'name?': name,
  'kind?': bucket,
  'rate_per_second?': rate,
  'scopes?': scopeList,
  'expires_at?': described(expiry, instant),
});

/** Members that are absent stay. */
export const setKeyInput = closedObject({
  'org_id?': organisationId,
  key_id: keyId,
  'name?': name,
  'rate_per_second?': rate,
  'scopes?': described('Null: the key may do everything.', { ...scopeList, type: ['array', 'null'] }),
  'expires_at?': described(`${expiry} Null: it has no end.`, instantOrNull),
});
/** The secret is shown once. */
export const createKeyOutput = closedObject({ ...keyMembers, secret: text });

export const revokeKeyInput = closedObject({ 'org_id?': organisationId, key_id: keyId });
