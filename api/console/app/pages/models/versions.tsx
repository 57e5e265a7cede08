import { useState } from 'preact/hooks';
import { instantText } from '../../parts/formats.js';
import { ConfirmDialog, Dialog, DialogButtons } from '../../parts/forms/dialog.js';
import { Field } from '../../parts/forms/field.js';
import { Card, Problem } from '../../parts/page.js';
import { useSome } from '../../parts/some.js';
import { useOrganisation } from '../../server/session.js';
import { useSend } from '../../server/use-send.js';
import type { Model, ModelProps } from './model-props.js';
import { CandidateNote, OverrideField, PreviousNote, useReason } from './promotion.js';

/** The versions of a model, its override and its name. */
export function Versions({ model, changed }: ModelProps) {
  const { base, may } = useOrganisation();
  const { shown, more } = useSome(model.versions, { words: 'versions' });
  const [open, setOpen] = useState<'override' | 'rename' | { readonly version: string }>();
  const close = () => setOpen(undefined);
  const done = () => {
    close();
    changed();
  };
  const comparison = `${base}/models/${encodeURIComponent(model.model_id)}/compare`;
  const aside = (
    <div class="row">
      {model.versions.length > 1 && (
        <a class="button" href={comparison}>
          Compare
        </a>
      )}
      {may('admin') && (
        <button type="button" class="button" onClick={() => setOpen('rename')}>
          Rename…
        </button>
      )}
    </div>
  );
  return (
    <Card title="Versions" about="A version never changes. A rollback takes effect within seconds." aside={aside}>
      <ul class="rows">
        {shown.map(({ version, imported_at: importedAt }) => (
          <li key={version}>
            <div>
              <strong>{version}</strong> {version === model.version && <span class="badge on">scores</span>}{' '}
              {version === model.candidate?.version && <span class="badge">candidate</span>}
              <p class="small soft">imported {instantText(importedAt)}</p>
            </div>
            {version !== model.version && (
              <div class="row">
                <a
                  class="button"
                  aria-label={`Compare version ${version}`}
                  href={`${comparison}?other=${encodeURIComponent(version)}`}
                >
                  Compare
                </a>
                {may('admin') && (
                  <button
                    type="button"
                    class="button"
                    aria-label={`Let it score… (version ${version})`}
                    onClick={() => setOpen({ version })}
                  >
                    Let it score…
                  </button>
                )}
              </div>
            )}
          </li>
        ))}
      </ul>
      {more}
      <CandidateNote model={model} changed={changed} />
      <PreviousNote model={model} changed={changed} />
      <Override model={model} changed={changed} open={() => setOpen('override')} />
      {open === 'rename' && <RenameDialog model={model} close={close} done={done} />}
      {open === 'override' && <OverrideDialog model={model} close={close} done={done} />}
      {typeof open === 'object' && <ServeDialog model={model} version={open.version} close={close} done={done} />}
    </Card>
  );
}

function Override({ model, changed, open }: ModelProps & { readonly open: () => void }) {
  const { api, may } = useOrganisation();
  const sender = useSend();
  const { override, validation } = model;
  const remove = async () => {
    const path = `${api}/models/${encodeURIComponent(model.model_id)}/override`;
    if (await sender.send('DELETE', path)) changed();
  };
  if (override)
    return (
      <div class="note">
        <p>
          <strong>Override</strong> by {override.by}, {instantText(override.at)}: {override.reason}
        </p>
        {may('admin') && (
          <button type="button" class="button" disabled={sender.isBusy} onClick={remove}>
            Remove override
          </button>
        )}
        {sender.problem && <Problem problem={sender.problem} />}
      </div>
    );
  const mayBeBlocked = validation.state !== 'passed' && validation.state !== 'not_applicable';
  if (!mayBeBlocked || !may('admin')) return null;
  return (
    <div class="note" id="override">
      <p>Under the deploy policy block, calls to this version get 409 until it passes. An override lets it score.</p>
      <button type="button" class="button" onClick={open}>
        Override…
      </button>
    </div>
  );
}

interface DialogProps {
  readonly model: Model;
  readonly close: () => void;
  readonly done: () => void;
}

function OverrideDialog({ model, close, done }: DialogProps) {
  const { api } = useOrganisation();
  const sender = useSend();
  const [reason, setReason] = useState('');
  const send = async () => {
    const path = `${api}/models/${encodeURIComponent(model.model_id)}/override`;
    if (await sender.send('POST', path, { reason })) done();
  };
  return (
    <Dialog title={`Override the verdict on version ${model.version}?`} close={close} submit={send}>
      <p>Calls score although the version has not passed. Their replies name the override and its reason.</p>
      <Field label="Reason" value={reason} set={setReason} isRequired hint="Stored with your name in the audit log." />
      {sender.problem && <Problem problem={sender.problem} />}
      <DialogButtons
        action="Override"
        close={close}
        isBusy={sender.isBusy}
        isDisabled={reason.trim() === ''}
        isDanger
      />
    </Dialog>
  );
}

function RenameDialog({ model, close, done }: DialogProps) {
  const { api } = useOrganisation();
  const sender = useSend();
  const [name, setName] = useState(model.name);
  const send = async () => {
    if (await sender.send('PATCH', `${api}/models/${encodeURIComponent(model.model_id)}`, { name })) done();
  };
  return (
    <Dialog title="Rename the model" close={close} submit={send}>
      <Field label="Name" value={name} set={setName} isRequired />
      {sender.problem && <Problem problem={sender.problem} />}
      <DialogButtons action="Rename" close={close} isBusy={sender.isBusy} isDisabled={name.trim() === ''} />
    </Dialog>
  );
}

function ServeDialog({ model, version, close, done }: DialogProps & { readonly version: string }) {
  const { api } = useOrganisation();
  const sender = useSend();
  const override = useReason('would_block', sender.problem);
  const send = async () => {
    const path = `${api}/models/${encodeURIComponent(model.model_id)}`;
    const given = override.given && { override: override.given };
    if (await sender.send('PATCH', path, { version, ...given })) done();
  };
  return (
    <ConfirmDialog
      title={`Let version ${version} score?`}
      action="Let it score"
      name={model.name}
      sender={sender}
      close={close}
      run={send}
    >
      <p>
        New calls are scored by version {version} instead of {model.version}. Its own verdict counts from then on.
      </p>
      {override.isAsked && <OverrideField reason={override.reason} set={override.setReason} />}
    </ConfirmDialog>
  );
}
