import { useState } from 'preact/hooks';
import type { comparisonOutput } from '../../../../../shared/admin/schemas/comparison.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { instantText } from '../../parts/formats.js';
import { ConfirmDialog } from '../../parts/forms/dialog.js';
import { Field } from '../../parts/forms/field.js';
import { Load, Problem } from '../../parts/page.js';
import { Refusal } from '../../server/call.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { useSend } from '../../server/use-send.js';
import type { Model, ModelProps } from './model-props.js';

/** The candidate of a model, with its promotion; nothing without one. */
export function CandidateNote({ model, changed }: ModelProps) {
  const { api, may } = useOrganisation();
  const sender = useSend();
  const [isOpen, setOpen] = useState(false);
  const { candidate } = model;
  if (candidate === undefined) return null;
  const path = `${api}/models/${encodeURIComponent(model.model_id)}`;
  const drop = async () => {
    if (await sender.send('DELETE', `${path}/candidate`)) changed();
  };
  const close = () => setOpen(false);
  return (
    <div class="note">
      <p>
        <strong>Candidate</strong> {candidate.version} by {candidate.by}, {instantText(candidate.since)}. It scores no
        calls.
      </p>
      {model.candidate_run && <p>{model.candidate_run.summary}</p>}
      {may('admin') && (
        <div class="row">
          {candidate.version !== model.version && (
            <button type="button" class="button" onClick={() => setOpen(true)}>
              Promote…
            </button>
          )}
          <button type="button" class="button" disabled={sender.isBusy} onClick={drop}>
            Drop the candidate
          </button>
        </div>
      )}
      {sender.problem && <Problem problem={sender.problem} />}
      {isOpen && <PromoteDialog model={model} candidate={candidate.version} close={close} changed={changed} />}
    </div>
  );
}

/** The version to which a rollback leads; nothing without one, or for people who may not do it. */
export function PreviousNote({ model, changed }: ModelProps) {
  const { may } = useOrganisation();
  const [isOpen, setOpen] = useState(false);
  const { previous } = model;
  if (previous === undefined || !may('admin')) return null;
  const close = () => setOpen(false);
  return (
    <div class="note">
      <p>
        Version {previous.version} scored calls <strong>before</strong>.
      </p>
      <button type="button" class="button" onClick={() => setOpen(true)}>
        Roll back…
      </button>
      {isOpen && <RollbackDialog model={model} previous={previous} close={close} changed={changed} />}
    </div>
  );
}

interface DialogProps extends ModelProps {
  readonly close: () => void;
}

/** The reason that a person gives for something that was refused without one. */
export function useReason(code: string, problem: Error | undefined) {
  const [reason, setReason] = useState('');
  const isAsked = reason !== '' || (problem instanceof Refusal && problem.code === code);
  const given = reason.trim() === '' ? undefined : { reason };
  return { reason, setReason, isAsked, given };
}

function PromoteDialog({ model, candidate, close, changed }: DialogProps & { readonly candidate: string }) {
  const { api } = useOrganisation();
  const sender = useSend();
  const path = `${api}/models/${encodeURIComponent(model.model_id)}`;
  const comparison = useLoad<ShapeOf<typeof comparisonOutput>>(`${path}/comparison`);
  const force = useReason('needs_force', sender.problem);
  const override = useReason('would_block', sender.problem);
  const send = async () => {
    const named = { current: model.version, candidate };
    const given = { ...(force.given && { force: force.given }), ...(override.given && { override: override.given }) };
    if (!(await sender.send('POST', `${path}/promote`, { ...named, ...given }))) return;
    close();
    changed();
  };
  return (
    <ConfirmDialog
      title={`Promote version ${candidate}?`}
      action="Promote"
      name={model.name}
      sender={sender}
      close={close}
      run={send}
    >
      <Load of={comparison}>{({ summary }) => <p>{summary}</p>}</Load>
      <p>
        New calls are scored by version {candidate} instead of {model.version}. A rollback restores version{' '}
        {model.version}.
      </p>
      {force.isAsked && (
        <Field
          label="Reason to promote it anyway"
          value={force.reason}
          set={force.setReason}
          hint="Stored with your name in the audit log."
        />
      )}
      {override.isAsked && <OverrideField reason={override.reason} set={override.setReason} />}
    </ConfirmDialog>
  );
}

function RollbackDialog(props: DialogProps & { readonly previous: NonNullable<Model['previous']> }) {
  const { model, previous, close, changed } = props;
  const { api } = useOrganisation();
  const sender = useSend();
  const override = useReason('would_block', sender.problem);
  const send = async () => {
    const path = `${api}/models/${encodeURIComponent(model.model_id)}/rollback`;
    const named = { current: model.version, previous: previous.version };
    if (!(await sender.send('POST', path, { ...named, ...(override.given && { override: override.given }) }))) return;
    close();
    changed();
  };
  return (
    <ConfirmDialog
      title={`Roll back to version ${previous.version}?`}
      action="Roll back"
      name={model.name}
      sender={sender}
      close={close}
      run={send}
    >
      <p>
        New calls are scored by version {previous.version} instead of {model.version}.
        {previous.override && ` Its override is restored: ${previous.override.reason}`}
      </p>
      {override.isAsked && <OverrideField reason={override.reason} set={override.setReason} />}
    </ConfirmDialog>
  );
}

/** The reason for an override, where the policy block refuses a version. */
export function OverrideField({ reason, set }: { readonly reason: string; readonly set: (reason: string) => void }) {
  return (
    <Field
      label="Reason for an override"
      value={reason}
      set={set}
      hint="The version then scores although it has not passed. Stored with your name in the audit log."
    />
  );
}
