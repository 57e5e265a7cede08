import type { ShapeOf } from '../../contract/schema.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { ConsoleAccess } from '../../store/console/console-access.js';
import { type ConsoleMember, MemberStore } from '../../store/console/members.js';
import { type ActionContext, defineAction } from '../action.js';
import { AdminError } from '../admin-error.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { nothing } from '../schemas/members.js';
import {
  addMemberInput,
  listMembersInput,
  listMembersOutput,
  memberSchema,
  removeMemberInput,
  setMemberInput,
} from '../schemas/people.js';

export const listMembers = defineAction({
  name: 'member.list',
  description: 'List the people who may sign in to an organisation by OIDC.',
  role: 'owner',
  effect: 'read',
  input: listMembersInput,
  output: listMembersOutput,
  async run({ database }, { org_id: organisationId }) {
    await requireOrganisation(new OrganisationStore(database), organisationId);
    return { members: (await new MemberStore(database).list(organisationId)).map(memberDocument) };
  },
});

/** Invites a person. The first account with this verified e-mail that signs in becomes the member. */
export const addMember = defineAction({
  name: 'member.add',
  description: 'Let the person with a verified e-mail address sign in by OIDC.',
  role: 'owner',
  effect: 'change',
  input: addMemberInput,
  output: memberSchema,
  async run({ database, session, clock, record }, { org_id: org, email, role }) {
    await requireOrganisation(new OrganisationStore(database, session), org);
    const invited = { org, email: email.toLowerCase(), role, created_at: new Date(clock.now()) };
    const member = await new MemberStore(database, session).add(invited);
    if (member === undefined)
      throw new AdminError('conflict', `${email} is a member already. Change the role instead.`);
    await record({ organisationId: org, target: member._id, after: { email: member.email, role } });
    return memberDocument(member);
  },
});

/** Changes a role. The sessions of the member end, because they carry the role before. */
export const setMember = defineAction({
  name: 'member.set',
  description: 'Change the role of a member. The member signs in again.',
  role: 'owner',
  effect: 'change',
  input: setMemberInput,
  output: memberSchema,
  async run(context, { role, ...input }) {
    const { database, session, record } = context;
    const member = await requireMember(context, input);
    await new MemberStore(database, session).setRole(member._id, role);
    await new ConsoleAccess(database, session).endOfMember(member._id);
    const change = { before: { role: member.role }, after: { role } };
    await record({ organisationId: member.org, target: member._id, ...change });
    return memberDocument({ ...member, role });
  },
});

export const removeMember = defineAction({
  name: 'member.remove',
  description: 'Remove a member. Sessions of the member end at once.',
  role: 'owner',
  effect: 'change',
  input: removeMemberInput,
  output: nothing,
  async run(context, input) {
    const { database, session, record } = context;
    const { _id: id, org, email, role } = await requireMember(context, input);
    await new MemberStore(database, session).remove(id);
    await new ConsoleAccess(database, session).endOfMember(id);
    await record({ organisationId: org, target: id, before: { email, role } });
    return {};
  },
});

async function requireMember(
  { database, session }: ActionContext,
  { org_id: organisationId, member_id: memberId }: { readonly org_id: string; readonly member_id: string },
): Promise<ConsoleMember> {
  await requireOrganisation(new OrganisationStore(database, session), organisationId);
  const member = await new MemberStore(database, session).find(organisationId, memberId);
  if (member === undefined) throw new AdminError('not_found', `There is no member ${memberId}`);
  return member;
}

const memberDocument = (member: ConsoleMember): ShapeOf<typeof memberSchema> => ({
  member_id: member._id,
  email: member.email,
  role: member.role,
  bound: member.account !== undefined,
  created_at: member.created_at.toISOString(),
  ...(member.last_sign_in_at === undefined ? {} : { last_sign_in_at: member.last_sign_in_at.toISOString() }),
});
