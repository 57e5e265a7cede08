import { useState } from 'preact/hooks';
import type { listMembersOutput, waysOutput } from '../../../../../shared/admin/schemas/people.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { instantText } from '../../parts/formats.js';
import { ConfirmDialog } from '../../parts/forms/dialog.js';
import { Field, SelectField } from '../../parts/forms/field.js';
import { Card, Load, Problem } from '../../parts/page.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { useSend } from '../../server/use-send.js';

type Member = ShapeOf<typeof listMembersOutput>['members'][number];
export const roleOptions = [
  ['viewer', 'Viewer'],
  ['admin', 'Admin'],
  ['owner', 'Owner'],
] as const;

/** The people who sign in by an identity provider. Absent where none is set up. */
export function MembersCard() {
  const { api } = useOrganisation();
  const ways = useLoad<ShapeOf<typeof waysOutput>>('/session/ways');
  const members = useLoad<ShapeOf<typeof listMembersOutput>>(ways.data?.oidc ? `${api}/members` : undefined);
  if (!ways.data?.oidc) return null;
  return (
    <Card
      title="Members"
      about="People who sign in by your company account. The e-mail address must be verified there."
    >
      <Load of={members}>
        {({ members: all }) => (
          <ul class="rows">
            {all.length === 0 && <li class="soft">No members yet.</li>}
            {all.map((member) => (
              <MemberRow key={member.member_id} member={member} changed={members.reload} />
            ))}
          </ul>
        )}
      </Load>
      <AddForm added={members.reload} />
    </Card>
  );
}

function MemberRow({ member, changed }: { readonly member: Member; readonly changed: () => void }) {
  const { api } = useOrganisation();
  const sender = useSend();
  const [isRemoving, setRemoving] = useState(false);
  const path = `${api}/members/${member.member_id}`;
  const setRole = async (role: string) => {
    if (await sender.send('PATCH', path, { role })) changed();
  };
  const remove = async () => {
    if (await sender.send('DELETE', path)) changed();
  };
  return (
    <li>
      <div>
        <strong>{member.email}</strong>
        <p class="small soft">
          {member.bound ? `last sign-in ${instantText(member.last_sign_in_at)}` : 'invited, not signed in yet'}
        </p>
        {sender.problem && !isRemoving && <Problem problem={sender.problem} />}
      </div>
      <div class="row">
        <SelectField
          label={`Role of ${member.email}`}
          value={member.role}
          set={setRole}
          options={roleOptions}
          isCompact
        />
        <button type="button" class="button" aria-label={`Remove ${member.email}`} onClick={() => setRemoving(true)}>
          Remove…
        </button>
      </div>
      {isRemoving && (
        <ConfirmDialog
          title={`Remove ${member.email}?`}
          action="Remove member"
          name={member.email}
          sender={sender}
          close={() => setRemoving(false)}
          run={remove}
        >
          <p>Sessions of this person end at once. A new invitation is needed to sign in again.</p>
        </ConfirmDialog>
      )}
    </li>
  );
}

function AddForm({ added }: { readonly added: () => void }) {
  const { api } = useOrganisation();
  const sender = useSend();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState('viewer');
  const add = async (event: Event) => {
    event.preventDefault();
    if ((await sender.send('POST', `${api}/members`, { email, role })) === undefined) return;
    setEmail('');
    added();
  };
  return (
    <form class="form" onSubmit={add}>
      <Field label="E-mail address" type="email" value={email} set={setEmail} maxLength={254} isRequired />
      <SelectField label="Role of the new member" value={role} set={setRole} options={roleOptions} />
      <div class="row">
        <button type="submit" class="button" disabled={sender.isBusy}>
          Add member
        </button>
      </div>
      {sender.problem && <Problem problem={sender.problem} />}
    </form>
  );
}
