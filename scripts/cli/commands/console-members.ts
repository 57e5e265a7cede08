import { type Command, Option } from 'commander';
import { addMember, listMembers, removeMember, setMember } from '../../../shared/admin/people/member-actions.js';
import type { addMemberInput, removeMemberInput, setMemberInput } from '../../../shared/admin/schemas/people.js';
import { ownRoles } from '../../../shared/contract/roles.js';
import type { ShapeOf } from '../../../shared/contract/schema.js';
import { type CliContext, type CommandResult, lineWidth } from '../context/cli-context.js';
import { perform } from '../context/perform.js';
import { type Columns, tableOf } from '../output/table.js';
import { defineCommand, type JsonOption, plainText } from './define-command.js';

interface RoleOption extends JsonOption {
  readonly role: (typeof ownRoles)[number];
}

const roleOption = () => new Option('--role <role>', 'what the person may do').choices(ownRoles).makeOptionMandatory();

/** Adds `console member list`, `add`, `set` and `remove`. */
export function addMemberCommands(console: Command, context: CliContext): void {
  const members = console.command('member').description('People who sign in by OIDC: list, add, set, remove');
  const organisation = 'org_4fzyo82mVYHgQ1bT';
  const member = 'mbr_0dKqvXb3JmZ81sUe';
  defineCommand(members, {
    usage: 'list <org>',
    description: 'List the members of an organisation',
    examples: [`console member list ${organisation}`],
  }).action((org: string, options: JsonOption) => context.present(options, list(context, org)));
  defineCommand(members, {
    usage: 'add <org>',
    description: 'Let the person with a verified e-mail address sign in by OIDC',
    examples: [`console member add ${organisation} --email ada@example.com --role admin`],
  })
    .requiredOption('--email <email>', 'the address that the identity provider has verified', plainText)
    .addOption(roleOption())
    .action((org: string, { email, role, ...options }: RoleOption & { readonly email: string }) =>
      context.present(options, add(context, { org_id: org, email, role })),
    );
  defineCommand(members, {
    usage: 'set <org> <member>',
    description: 'Change the role of a member, who then signs in again',
    examples: [`console member set ${organisation} ${member} --role viewer`],
  })
    .addOption(roleOption())
    .action((org: string, id: string, { role, ...options }: RoleOption) =>
      context.present(options, set(context, { org_id: org, member_id: id, role })),
    );
  defineCommand(members, {
    usage: 'remove <org> <member>',
    description: 'Remove a member, whose sessions end at once',
    examples: [`console member remove ${organisation} ${member}`],
  }).action((org: string, id: string, options: JsonOption) =>
    context.present(options, remove(context, { org_id: org, member_id: id })),
  );
}

async function list(context: CliContext, organisationId: string): Promise<CommandResult> {
  const document = await perform(context, listMembers, { org_id: organisationId });
  const none = `No members yet. Add one: npx leadscore console member add ${organisationId} --email EMAIL --role ROLE`;
  const columns: Columns<(typeof document.members)[number]> = [
    ['Member', (member) => member.member_id, 'whole'],
    ['E-mail', ({ email }) => email],
    ['Role', ({ role }) => role],
    ['Last sign-in', (member) => member.last_sign_in_at?.slice(0, 10) ?? 'never'],
  ];
  return { document, text: tableOf(document.members, columns, { width: lineWidth(context.stdout), none }) };
}

async function add(context: CliContext, input: ShapeOf<typeof addMemberInput>): Promise<CommandResult> {
  const document = await perform(context, addMember, input);
  return { document, text: `${document.member_id}: ${document.email} may sign in as ${document.role}.` };
}

async function set(context: CliContext, input: ShapeOf<typeof setMemberInput>): Promise<CommandResult> {
  const document = await perform(context, setMember, input);
  return { document, text: `${document.email} has the role ${document.role}, and signs in again.` };
}

async function remove(context: CliContext, input: ShapeOf<typeof removeMemberInput>): Promise<CommandResult> {
  await perform(context, removeMember, input);
  return { document: { member_id: input.member_id }, text: `${input.member_id} was removed.` };
}
