import type { ClientSession, Db } from 'mongodb';
import type { Change } from '../../redis/changes.js';
import { ApiKeyStore } from '../accounts/api-keys.js';
import { type Organisation, OrganisationStore } from '../accounts/organisations.js';
import { ConsoleAccess } from '../console/console-access.js';
import { MemberStore } from '../console/members.js';
import { DeletionStore } from './deletions.js';

/** A deletion as an operator asks for it. */
export interface RequestedDeletion {
  readonly organisationId: string;
  readonly requestedAt: Date;
  readonly by: string;
  readonly dueAt: Date;
}

/** An organisation after a change, and what running processes have to hear. */
interface Changed {
  readonly organisation: Organisation;
  readonly changes: readonly Change[];
}

/**
 * Takes an organisation away from its callers and its people. Its keys are refused, its sessions and links end, and its
 * members cannot sign in. Its data stays until the removal. Idempotent.
 * @param session the transaction of all this
 * @returns undefined if there is no such organisation
 */
export async function withdrawOrganisation(
  database: Db,
  session: ClientSession,
  { organisationId, requestedAt, by, dueAt }: RequestedDeletion,
): Promise<Changed | undefined> {
  const deletion = { requested_at: requestedAt, by, due_at: dueAt };
  const organisation = await new OrganisationStore(database, session).update(organisationId, { deletion });
  if (organisation === undefined) return undefined;
  const keys = await new ApiKeyStore(database, session).setWithdrawn(organisationId, true);
  await new MemberStore(database, session).setWithdrawn(organisationId, true);
  await new ConsoleAccess(database, session).endOfOrganisation(organisationId);
  await new DeletionStore(database, session).put({ _id: organisationId, state: 'pending', ...deletion });
  return { organisation, changes: [{ kind: 'organisation', id: organisationId }, ...keys] };
}

/**
 * Gives a withdrawn organisation back to its callers and members. Sessions and links stay ended.
 * @param session the transaction of all this
 * @returns undefined, with nothing changed, once its removal has begun
 */
export async function restoreOrganisation(
  database: Db,
  session: ClientSession,
  { organisationId, at }: { readonly organisationId: string; readonly at: Date },
): Promise<Changed | undefined> {
  if (!(await new DeletionStore(database, session).takeBack(organisationId, at))) return undefined;
  const organisation = await new OrganisationStore(database, session).update(organisationId, {}, ['deletion']);
  if (organisation === undefined) return undefined;
  const keys = await new ApiKeyStore(database, session).setWithdrawn(organisationId, false);
  await new MemberStore(database, session).setWithdrawn(organisationId, false);
  return { organisation, changes: [{ kind: 'organisation', id: organisationId }, ...keys] };
}
