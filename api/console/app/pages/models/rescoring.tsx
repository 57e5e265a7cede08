import { useState } from 'preact/hooks';
import type { listKeysOutput } from '../../../../../shared/admin/schemas/keys.js';
import { allows } from '../../../../../shared/contract/roles.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { countText, instantText } from '../../parts/formats.js';
import { Dialog, DialogButtons } from '../../parts/forms/dialog.js';
import { Field, SelectField } from '../../parts/forms/field.js';
import { Card, Load, Problem } from '../../parts/page.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { useSend } from '../../server/use-send.js';
import type { ModelProps } from './model-props.js';

const maxRows = 2_000_000;
/** The texts of the choice are short, because a select cuts longer ones. */
const occasions = [
  ['promotion', 'At a version change'],
  ['nightly', 'Each night (UTC)'],
] as const;
const occasionTexts = {
  promotion: 'after another version has come to score calls',
  nightly: 'each night (UTC)',
} as const;

/** When the service scores the stored leads of a model again; nothing for viewers of a model without it. */
export function RescoringCard({ model, changed }: ModelProps) {
  const { base, may } = useOrganisation();
  const [isOpen, setOpen] = useState(false);
  const { rescore } = model;
  if (rescore === undefined && !may('admin')) return null;
  const saved = () => {
    setOpen(false);
    changed();
  };
  return (
    <Card title="Stored leads" about="The service can score them again by itself. Each lead counts once more.">
      {rescore === undefined ? (
        <p class="soft">Off: they keep their scores until a call or a job scores them.</p>
      ) : (
        <p class={rescore.ended === undefined ? undefined : 'note warn'}>
          {rescore.ended && (
            <strong>
              This ended on {instantText(rescore.ended.at)}. {rescore.ended.reason}{' '}
            </strong>
          )}
          At most {countText(rescore.at_most)} leads, {occasionTexts[rescore.when]}, under the key{' '}
          {rescore.key_name ?? rescore.key_id}. Set by {rescore.by}, {instantText(rescore.since)}.{' '}
          {rescore.job_id && may('admin') && <a href={`${base}/jobs/${rescore.job_id}`}>The last job</a>}
        </p>
      )}
      {may('admin') && (
        <div class="row">
          <button type="button" class="button" onClick={() => setOpen(true)}>
            {rescore === undefined ? 'Score them again…' : 'Change…'}
          </button>
          {rescore && <TurnOff model={model} changed={changed} />}
        </div>
      )}
      {isOpen && <RescoringForm model={model} changed={saved} close={() => setOpen(false)} />}
    </Card>
  );
}

function TurnOff({ model, changed }: ModelProps) {
  const { api } = useOrganisation();
  const sender = useSend();
  const turnOff = async () => {
    const path = `${api}/models/${encodeURIComponent(model.model_id)}`;
    if ((await sender.send('PATCH', path, { rescore: null })) !== undefined) changed();
  };
  return (
    <>
      <button type="button" class="button" disabled={sender.isBusy} onClick={turnOff}>
        Turn off
      </button>
      {sender.problem && <Problem problem={sender.problem} />}
    </>
  );
}

interface FormProps extends ModelProps {
  readonly close: () => void;
}

/** The dialog opens once its keys are known: it gives the focus to its first control. */
function RescoringForm(props: FormProps) {
  const { api } = useOrganisation();
  const keys = useLoad<ShapeOf<typeof listKeysOutput>>(`${api}/keys`);
  return (
    <Load of={keys}>
      {({ keys: all }) => {
        const usable = all.filter(
          (key) => key.kind === 'live' && key.state === 'valid' && allows(key, 'jobs') && allows(key, 'read'),
        );
        return usable.length === 0 ? (
          <p class="note" role="status">
            These jobs need a live key with the scopes jobs and read. Create one on the page API keys.
          </p>
        ) : (
          <Choices {...props} keys={usable.map(({ key_id: id, name }) => [id, name] as const)} />
        );
      }}
    </Load>
  );
}

function Choices({
  model,
  changed,
  close,
  keys,
}: FormProps & { readonly keys: readonly (readonly [id: string, name: string])[] }) {
  const { api } = useOrganisation();
  const sender = useSend();
  const [when, setWhen] = useState<string>(model.rescore?.when ?? 'promotion');
  const known = keys.find(([id]) => id === model.rescore?.key_id) ?? keys[0];
  const [keyId, setKeyId] = useState(known?.[0] ?? '');
  const [most, setMost] = useState(String(model.rescore?.at_most ?? 50_000));
  const save = async () => {
    const path = `${api}/models/${encodeURIComponent(model.model_id)}`;
    const rescore = { when, key_id: keyId, at_most: Number(most) };
    if ((await sender.send('PATCH', path, { rescore })) !== undefined) changed();
  };
  return (
    <Dialog title="Score stored leads again" close={close} submit={save}>
      <SelectField label="When" value={when} set={setWhen} options={occasions} hint="From the next time on." />
      <SelectField
        label="Key"
        value={keyId}
        set={setKeyId}
        options={keys}
        hint="The leads count under it. When it is revoked, expires or loses a scope, this ends."
      />
      <Field
        {...{ label: 'Leads at most', type: 'number', isRequired: true, min: 1, max: maxRows }}
        value={most}
        set={setMost}
        hint="The leads that were sent last, within 90 days."
      />
      {sender.problem && <Problem problem={sender.problem} />}
      <DialogButtons action="Save" close={close} isBusy={sender.isBusy} />
    </Dialog>
  );
}
