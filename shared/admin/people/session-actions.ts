import type { ShapeOf } from '../../contract/schema.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { ConsoleAccess, type SessionScope } from '../../store/console/console-access.js';
import { MemberStore } from '../../store/console/members.js';
import { type ActionContext, defineAction } from '../action.js';
import { AdminError } from '../admin-error.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { nothing } from '../schemas/members.js';
import { endSessionInput, listSessionsInput, listSessionsOutput, ownSessionInput } from '../schemas/people.js';

/** Memberships of one account whose sessions are listed. */
const maxMemberships = 200;
const operators = { operators: true } as const;

export const listOwnSessions = defineAction({
  name: 'session.list_own',
  description: 'List the browsers in which the person is signed in, the last used first.',
  role: 'viewer',
  isOfPerson: true,
  effect: 'read',
  input: nothing,
  output: listSessionsOutput,
  run: async (context) => await listed(context, await ownScope(context)),
});

export const endOwnSession = defineAction({
  name: 'session.end_own',
  description: 'End a session of the person at once.',
  role: 'viewer',
  isOfPerson: true,
  effect: 'change',
  input: ownSessionInput,
  output: nothing,
  run: async (context, { session_id: id }) => await end(context, id, await ownScope(context)),
});

export const listSessions = defineAction({
  name: 'session.list',
  description: 'List the sessions of people who signed in to an organisation, by a link or as its members.',
  role: 'owner',
  effect: 'read',
  input: listSessionsInput,
  output: listSessionsOutput,
  async run(context, { org_id: organisation }) {
    await requireOrganisation(new OrganisationStore(context.database), organisation);
    return await listed(context, { organisation });
  },
});

export const endSession = defineAction({
  name: 'session.revoke',
  description: 'End a session of a person of an organisation at once.',
  role: 'owner',
  effect: 'change',
  input: endSessionInput,
  output: nothing,
  async run(context, { org_id: organisation, session_id: id }) {
    await requireOrganisation(new OrganisationStore(context.database, context.session), organisation);
    return await end(context, id, { organisation });
  },
});

export const listOperatorSessions = defineAction({
  name: 'session.list_operators',
  description: 'List the sessions of operators. Tokens are listed by token.list.',
  role: 'operator',
  effect: 'read',
  input: nothing,
  output: listSessionsOutput,
  run: async (context) => await listed(context, operators),
});

export const endOperatorSession = defineAction({
  name: 'session.revoke_operator',
  description: 'End a session of an operator at once.',
  role: 'operator',
  effect: 'change',
  input: ownSessionInput,
  output: nothing,
  run: async (context, { session_id: id }) => await end(context, id, operators),
});

/**
 * The sessions of the person who acts. By a link a person has no account: those with the same name and role in the same
 * organisation count as one person. A token has no sessions.
 */
async function ownScope({ actor, database }: Pick<ActionContext, 'actor' | 'database'>): Promise<SessionScope> {
  const { session } = actor;
  if (session === undefined || session.way === 'token') return { members: [] };
  const { member_id: memberId, person, role, org } = session;
  if (memberId === undefined) return { person, role, ...(org === undefined ? {} : { org }) };
  const memberships = await new MemberStore(database).ofAccount(memberId, { most: maxMemberships });
  return { members: [memberId, ...memberships.map(({ _id }) => _id)] };
}

async function listed(
  { database, clock, actor }: ActionContext,
  scope: SessionScope,
): Promise<ShapeOf<typeof listSessionsOutput>> {
  const found = await new ConsoleAccess(database).listSessions(scope, new Date(clock.now()));
  return {
    sessions: found.map((session) => ({
      session_id: session.session_id ?? '',
      ...{ person: session.person, role: session.role, way: session.way, address: session.address ?? null },
      created_at: session.created_at.toISOString(),
      last_used_at: (session.last_used_at ?? session.created_at).toISOString(),
      expires_at: (session.expires_at ?? session.created_at).toISOString(),
      is_current: session._id === actor.session?._id,
    })),
  };
}

async function end({ database, session, record }: ActionContext, id: string, scope: SessionScope) {
  const ended = await new ConsoleAccess(database, session).endSession(id, scope);
  if (ended === undefined) throw new AdminError('not_found', `There is no session ${id}`);
  const { org, person, role } = ended;
  await record({ ...(org === undefined ? {} : { organisationId: org }), target: id, before: { person, role } });
  return {};
}
