import { useState } from 'preact/hooks';
import type { organisationSchema } from '../../../../../shared/admin/schemas/organisations.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { instantText } from '../../parts/formats.js';
import { Dialog, DialogButtons } from '../../parts/forms/dialog.js';
import { Field } from '../../parts/forms/field.js';
import { Card, Problem } from '../../parts/page.js';
import { useOrganisation } from '../../server/session.js';
import { useSend } from '../../server/use-send.js';

type Organisation = ShapeOf<typeof organisationSchema>;

interface Props {
  readonly of: Organisation;
  readonly changed: () => void;
}

/** For operators: stops the scoring of the organisation, and lets it score again. */
export function SuspensionCard({ of: organisation, changed }: Props) {
  const { api } = useOrganisation();
  const sender = useSend();
  const [isAsking, setAsking] = useState(false);
  const { suspended } = organisation;
  const end = async () => {
    if (await sender.send('DELETE', `${api}/suspension`)) changed();
  };
  return (
    <Card
      id="suspension"
      title="Suspension"
      about="A suspended organisation scores nothing. Reading, outcomes and erasure go on, and its bulk jobs wait."
    >
      {suspended ? (
        <p>
          Suspended since {instantText(suspended.since)} by {suspended.by}: {suspended.reason}
        </p>
      ) : (
        <p class="soft">The organisation is not suspended.</p>
      )}
      <div class="row">
        {suspended && (
          <button type="button" class="button main" disabled={sender.isBusy} onClick={end}>
            End the suspension
          </button>
        )}
        <button type="button" class="button" onClick={() => setAsking(true)}>
          {suspended ? 'Change the reason…' : 'Suspend…'}
        </button>
      </div>
      {sender.problem && <Problem problem={sender.problem} />}
      {isAsking && <SuspendDialog of={organisation} changed={changed} close={() => setAsking(false)} />}
    </Card>
  );
}

function SuspendDialog({ of: organisation, changed, close }: Props & { readonly close: () => void }) {
  const { api } = useOrganisation();
  const sender = useSend();
  const [reason, setReason] = useState(organisation.suspended?.reason ?? '');
  const suspend = async () => {
    if (!(await sender.send('POST', `${api}/suspension`, { reason }))) return;
    close();
    changed();
  };
  return (
    <Dialog title={`Suspend ${organisation.name}?`} close={close} submit={suspend}>
      <p>
        Scoring calls of all keys, new bulk jobs and the playground get 402 within seconds. Running bulk jobs pause, and
        go on by themselves after the end.
      </p>
      <Field
        label="Reason"
        value={reason}
        set={setReason}
        maxLength={200}
        hint="The people of the organisation see it."
        isRequired
      />
      {sender.problem && <Problem problem={sender.problem} />}
      <DialogButtons action="Suspend" close={close} isBusy={sender.isBusy} isDisabled={reason.trim() === ''} isDanger />
    </Dialog>
  );
}
