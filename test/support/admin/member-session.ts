import { addMember } from '../../../shared/admin/people/member-actions.js';
import { signInByOidc } from '../../../shared/admin/people/sign-in.js';
import type { Role } from '../../../shared/contract/roles.js';
import type { AdminDesk } from './admin-desk.js';

/** The cookie of a session over plain HTTP. */
export const sessionCookie = 'leadscore_console';

/**
 * Invites a person to organisations, and signs in as if an identity provider had.
 * @param roles by organisation; the session is of the first one
 * @returns the secret for the cookie
 */
export async function memberSession(desk: AdminDesk, roles: ReadonlyMap<string, Role>, sub = 'ada'): Promise<string> {
  const email = `${sub}@example.com`;
  for (const [organisationId, role] of roles) await desk.act(addMember, { org_id: organisationId, email, role });
  const identity = { iss: 'https://login.example.com', sub, verifiedEmail: email, name: 'Ada' };
  const [home] = roles.keys();
  const begun = await signInByOidc({ ...desk.context, address: '192.0.2.7' }, identity, home);
  if (begun === undefined) throw new Error('the member was not signed in');
  return begun.secret;
}
