import { ownRoles, roles, ways } from '../../contract/roles.js';
import { closedObject, flag, instant, instantOrNull, list, record, text, textOrNull } from '../../contract/schema.js';
import { crmId, cursor, day, name, organisationId } from './members.js';

const role = { type: 'string', enum: roles } as const;
const ownRole = { type: 'string', enum: ownRoles } as const;

const way = { type: 'string', enum: ways } as const;

const who = {
  person: text,
  role,
  /** Null for an operator, who sees every organisation. */
  organisation_id: textOrNull,
  organisation_name: textOrNull,
} as const;

/** The text after `#` of a one-time link. */
const linkSecret = { type: 'string', minLength: 1, maxLength: 200 } as const;

/** `POST /session` signs in. `POST /session/preview` only tells whose link it is, and does not use it. */
export const signInInput = closedObject({ link: linkSecret });
export const linkPreviewOutput = closedObject({ ...who, expires_at: instant });
/** Also of `GET /session`. `expires_at` is null for a token. */
export const sessionOutput = closedObject({
  ...who,
  way,
  expires_at: instantOrNull,
  /**
   * The organisations that the person may open, with the role in each, by name. Empty for an operator, who may open
   * all. A person signed in by a one-time link has one.
   */
  organisations: list(closedObject({ org_id: text, name: text, role: ownRole })),
  /** Whether there are more than the 200 listed ones, which were used last. */
  has_more_organisations: flag,
});
/** `GET /session/ways`, without a session: whether the sign-in page may offer OIDC. */
export const waysOutput = closedObject({ oidc: flag });

/** An operator's link has no organisation. An owner may name no other organisation than the own one. */
export const createLinkInput = closedObject({ 'org_id?': organisationId, name, role });
export const createLinkOutput = closedObject({ person: text, role, url: text, expires_at: instant });

export const createTokenInput = closedObject({ name });
export const createTokenOutput = closedObject({ token_id: text, name: text, secret: text, created_at: instant });

const tokenSchema = closedObject({ token_id: text, name: text, created_at: instant });
export const listTokensOutput = closedObject({ tokens: list(tokenSchema) });
export const revokeTokenInput = closedObject({ token_id: text });

const sessionId = { type: 'string', minLength: 1, maxLength: 60 } as const;
const sessionSchema = closedObject({
  session_id: text,
  person: text,
  role,
  way,
  /** From which the session was used last. */
  address: textOrNull,
  created_at: instant,
  last_used_at: instant,
  /** When it ends unless it is used. */
  expires_at: instant,
  /** Whether it is the one that asks. */
  is_current: flag,
});
export const ownSessionInput = closedObject({ session_id: sessionId });
export const listSessionsInput = closedObject({ org_id: organisationId });
export const endSessionInput = closedObject({ org_id: organisationId, session_id: sessionId });
/** At most 200, the last used first. Uses are up to a minute late. */
export const listSessionsOutput = closedObject({ sessions: list(sessionSchema) });

const memberId = { type: 'string', minLength: 1, maxLength: 60 } as const;
const email = { type: 'string', minLength: 3, maxLength: 254, pattern: '^[^\\s@\\p{Cc}]+@[^\\s@\\p{Cc}]+$' } as const;
export const memberSchema = closedObject({
  member_id: text,
  email: text,
  role: ownRole,
  /** Whether the person has signed in, to any organisation, and is bound to that account of the issuer. */
  bound: flag,
  created_at: instant,
  'last_sign_in_at?': instant,
});
export const listMembersInput = closedObject({ org_id: organisationId });
export const listMembersOutput = closedObject({ members: list(memberSchema) });
export const addMemberInput = closedObject({ org_id: organisationId, email, role: ownRole });
export const setMemberInput = closedObject({ org_id: organisationId, member_id: memberId, role: ownRole });
export const removeMemberInput = closedObject({ org_id: organisationId, member_id: memberId });

const change = record({});
export const auditEntrySchema = closedObject({
  entry_id: text,
  at: instant,
  actor: closedObject({ name: text, way, address: textOrNull }),
  /** The change in words, such as `Ada revoked the key HubSpot`. */
  sentence: text,
  /** The name of an action, such as `key.revoke`. */
  action: text,
  /** The id of the changed object, such as `key_…`; null for the organisation itself. */
  target: textOrNull,
  /** Its name now, or when it was removed. Absent for objects without a name. */
  'target_name?': text,
  /** The members that changed. Never secrets or fields of leads. */
  'before?': change,
  'after?': change,
  'reason?': text,
  request_id: text,
});
/** Entries of one page at most. */
export const mostAuditEntries = 1_000;
const auditFilters = {
  'before?': cursor,
  /** Entries of a page: 50 by default. */
  'limit?': { type: 'integer', minimum: 1, maximum: mostAuditEntries },
  /** The name of a person or a program. */
  'actor?': name,
  /** The first word of actions, such as `key`. */
  'kind?': { type: 'string', pattern: '^[a-z]{1,20}$' },
  /** The first and the last day, UTC. */
  'from?': day,
  'to?': day,
  /** The name of an action, such as `key.revoke`. */
  'action?': { type: 'string', minLength: 1, maxLength: 100 },
} as const;
/** `lead`: only reads of this one, in any form of its crm_id. */
export const listAuditInput = closedObject({ org_id: organisationId, ...auditFilters, 'lead?': crmId });
/** Selects entries that belong to no organisation. */
export const listOperatorAuditInput = closedObject(auditFilters);
/**
 * Latest first. `next` is absent on the last page. By a person or a kind, a page reads 5,000 entries: it may have few
 * entries or none, and a next one.
 */
export const listAuditOutput = closedObject({
  entries: list(auditEntrySchema),
  'next?': text,
  /** Who made the latest 1,000 entries, at most 200 names. Absent with a filter and on further pages. */
  'actors?': list(text),
});
