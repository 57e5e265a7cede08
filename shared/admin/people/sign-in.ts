import type { Way } from '../../contract/roles.js';
import type { ShapeOf } from '../../contract/schema.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import type { ClientSession } from '../../store/connection/connect.js';
import { inTransaction } from '../../store/connection/transaction.js';
import { AuditLog } from '../../store/console/audit-log.js';
import {
  ConsoleAccess,
  type ConsoleSession,
  newAccessSecret,
  type Person,
} from '../../store/console/console-access.js';
import { MemberStore, type OidcIdentity } from '../../store/console/members.js';
import type { AdminContext } from '../action.js';
import { AdminError } from '../admin-error.js';
import type { linkPreviewOutput, sessionOutput } from '../schemas/people.js';

/** The surroundings of a sign-in, before there is an actor. */
export type SignInContext = Pick<AdminContext, 'client' | 'database' | 'clock' | 'requestId'> & {
  readonly address: string;
};

const timeoutMs = 5_000;

/** Tells whose link it is, without using it. Undefined for a link that is used, expired or unknown. */
export async function previewLink(
  { database, clock }: SignInContext,
  secret: string,
): Promise<ShapeOf<typeof linkPreviewOutput> | undefined> {
  const link = await new ConsoleAccess(database).findLink(secret, new Date(clock.now()));
  if (link === undefined) return undefined;
  const { person, role, org } = link;
  const organisation = org === undefined ? undefined : await new OrganisationStore(database).find(org);
  return {
    ...{ person, role, organisation_id: org ?? null, organisation_name: organisation?.name ?? null },
    expires_at: link.expires_at.toISOString(),
  };
}

/** A session that has begun, and the secret for its cookie. */
export interface BegunSession {
  readonly secret: string;
  readonly session: ConsoleSession;
}

/**
 * Uses a link to sign in. A link gives one session, however many browsers send it at once.
 * @returns undefined for a link that is used, expired or unknown
 */
export async function signInByLink(context: SignInContext, linkSecret: string): Promise<BegunSession | undefined> {
  const now = new Date(context.clock.now());
  return await begin(context, 'link', (access) => access.takeLink(linkSecret, now));
}

/**
 * Signs in a person whom an identity provider has signed in.
 * @param organisationId undefined for the organisation that the person used last
 * @returns undefined for a person without an invitation
 */
export async function signInByOidc(
  context: SignInContext,
  identity: OidcIdentity & { readonly name: string },
  organisationId: string | undefined,
): Promise<BegunSession | undefined> {
  const now = new Date(context.clock.now());
  return await begin(context, 'oidc', async (_access, session) => {
    const member = await new MemberStore(context.database, session).signIn(identity, organisationId, now);
    if (member === undefined) return undefined;
    return { person: identity.name, role: member.role, org: member.org, member_id: member._id };
  });
}

/**
 * Begins a session for a person, with an entry in the audit log.
 * @param identify finds the person within the transaction
 */
async function begin(
  { client, database, clock, requestId, address }: SignInContext,
  way: Way,
  identify: (access: ConsoleAccess, session: ClientSession) => Promise<Person | undefined>,
): Promise<BegunSession | undefined> {
  const secret = newAccessSecret();
  const now = new Date(clock.now());
  let begun: ConsoleSession | undefined;
  await inTransaction(
    client,
    async ({ session }) => {
      const access = new ConsoleAccess(database, session);
      const found = await identify(access, session);
      begun = undefined;
      if (found === undefined) return;
      const { person, role, org, member_id } = found;
      const scope = { ...(org === undefined ? {} : { org }), ...(member_id === undefined ? {} : { member_id }) };
      begun = await access.begin(secret, { person, role, ...scope, way, address }, now);
      const entry = {
        ...(org === undefined ? {} : { org }),
        at: now,
        actor: { name: person, way, address },
        action: 'session.begin',
        after: { role },
        request_id: requestId,
      };
      await new AuditLog(database).append(entry, session);
    },
    { timeoutMs },
  );
  return begun === undefined ? undefined : { secret, session: begun };
}

/** A session as its browser sees it. */
export async function sessionDocument(
  context: Pick<AdminContext, 'database'>,
  session: ConsoleSession,
): Promise<ShapeOf<typeof sessionOutput>> {
  const { person, role, org, way, expires_at: expiresAt } = session;
  const open = await openTo(context, session);
  const own = open.organisations.find(({ org_id: id }) => id === org);
  return {
    ...{ person, role, organisation_id: org ?? null, organisation_name: own?.name ?? null },
    ...{ way, expires_at: expiresAt?.toISOString() ?? null, ...open },
  };
}

/** More would make each page slow. */
const maxOrganisations = 200;

/** The organisations that a person may open. */
async function openTo(
  { database }: Pick<AdminContext, 'database'>,
  { org, role, member_id: memberId }: Person,
): Promise<Pick<ShapeOf<typeof sessionOutput>, 'organisations' | 'has_more_organisations'>> {
  if (org === undefined || role === 'operator') return { organisations: [], has_more_organisations: false };
  const found =
    memberId === undefined
      ? [{ org, role }]
      : await new MemberStore(database).ofAccount(memberId, { most: maxOrganisations + 1 });
  // The membership used last comes first. It counts where an organisation has two of them.
  const roles = new Map(
    found
      .slice(0, maxOrganisations)
      .toReversed()
      .map((member) => [member.org, member.role] as const),
  );
  const known = await new OrganisationStore(database).findAll([...roles.keys()]);
  const own = known.filter(({ deletion }) => deletion === undefined);
  const organisations = own.map(({ _id, name }) => ({ org_id: _id, name, role: roles.get(_id) ?? 'viewer' }));
  return {
    organisations: organisations.sort((one, other) => one.name.localeCompare(other.name)),
    has_more_organisations: found.length > maxOrganisations,
  };
}

/** The refusal of a link. It does not tell a used link from an unknown one. */
export const linkInvalid = (): AdminError =>
  new AdminError('link_invalid', 'This link is used or expired. Ask the sender for another one.');
