import { useState } from 'preact/hooks';
import {
  leastDeletionDays,
  mostDeletionDays,
  type organisationSchema,
  usualDeletionDays,
} from '../../../../../shared/admin/schemas/organisations.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { instantText } from '../../parts/formats.js';
import { ConfirmDialog } from '../../parts/forms/dialog.js';
import { Field } from '../../parts/forms/field.js';
import { Card, Problem } from '../../parts/page.js';
import { useOrganisation } from '../../server/session.js';
import { useSend } from '../../server/use-send.js';

interface Props {
  readonly of: ShapeOf<typeof organisationSchema>;
  readonly changed: () => void;
}

/** For operators: orders the deletion of the organisation, and takes it back until its days are over. */
export function DeletionCard({ of: organisation, changed }: Props) {
  const { api } = useOrganisation();
  const sender = useSend();
  const [isAsking, setAsking] = useState(false);
  const [days, setDays] = useState(String(usualDeletionDays));
  const { deletion } = organisation;
  const order = async () => {
    const body = { name: organisation.name, after_days: Number(days) };
    if (!(await sender.send('POST', `${api}/deletion`, body))) return;
    setAsking(false);
    changed();
  };
  const takeBack = async () => {
    if (await sender.send('DELETE', `${api}/deletion`)) changed();
  };
  return (
    <Card title="Deletion" about="At once calls get 401 and people see nothing. Some days later all data is removed.">
      {deletion && (
        <p>
          {deletion.by} ordered the deletion on {instantText(deletion.requested_at)}. All data is removed from{' '}
          {instantText(deletion.due_at)} on.
        </p>
      )}
      <div class="row">
        {deletion ? (
          <button type="button" class="button main" disabled={sender.isBusy} onClick={takeBack}>
            Undelete
          </button>
        ) : (
          <button type="button" class="button danger" onClick={() => setAsking(true)}>
            Delete…
          </button>
        )}
      </div>
      {sender.problem && !isAsking && <Problem problem={sender.problem} />}
      {isAsking && (
        <ConfirmDialog
          title={`Delete ${organisation.name}?`}
          action="Delete"
          name={organisation.name}
          sender={sender}
          close={() => setAsking(false)}
          run={order}
        >
          <p>
            Its keys, sessions and links stop at once, and its bulk jobs pause. An operator can take that back until the
            removal. The removal takes its calls, scores, outcomes, models, keys, members and audit log.
          </p>
          <Field
            label="Days until the removal"
            type="number"
            min={leastDeletionDays}
            max={mostDeletionDays}
            value={days}
            set={setDays}
            hint={`${leastDeletionDays} to ${mostDeletionDays} days.`}
            isRequired
          />
        </ConfirmDialog>
      )}
    </Card>
  );
}
