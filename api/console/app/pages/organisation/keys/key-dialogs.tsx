import { useState } from 'preact/hooks';
import type { createKeyOutput, listKeysOutput } from '../../../../../../shared/admin/schemas/keys.js';
import { presetOf, type Scope, scopePresets } from '../../../../../../shared/contract/roles.js';
import type { ShapeOf } from '../../../../../../shared/contract/schema.js';
import { ConfirmDialog, Dialog, DialogButtons, SecretDialog } from '../../../parts/forms/dialog.js';
import { Field, SelectField } from '../../../parts/forms/field.js';
import { Problem } from '../../../parts/page.js';
import { useOrganisation } from '../../../server/session.js';
import { useSend } from '../../../server/use-send.js';

export type Key = ShapeOf<typeof listKeysOutput>['keys'][number];
type NewKey = ShapeOf<typeof createKeyOutput>;

/** The limits of a key as the form has them. */
interface Limits {
  /** The name of a preset, or `own` for scopes that are none. */
  readonly use: string;
  readonly end: keyof typeof ends;
  /** `YYYY-MM-DD`, for the end `date`. */
  readonly day: string;
}

const ends = { never: 'Never', days: 'In 90 days', year: 'In one year', date: 'At the end of a day (UTC)' } as const;
const own = 'own';
const dayMs = 24 * 60 * 60 * 1000;
/** The UTC day some days from now. */
const dayIn = (days: number): string => new Date(Date.now() + days * dayMs).toISOString().slice(0, 10);

/** The last day of a key; undefined for a key without an end. */
function lastDay({ end, day }: Limits): string | undefined {
  if (end === 'never') return undefined;
  return end === 'date' ? day : dayIn(end === 'days' ? 90 : 365);
}

const scopesOf = ({ use }: Limits): readonly Scope[] | undefined =>
  scopePresets.find(({ name }) => name === use)?.scopes;

/** Whether the form can be sent. */
const isComplete = (limits: Limits): boolean => lastDay(limits) !== '';

/** The fields of what a key may do, and until when. */
function LimitFields(props: {
  readonly of: Limits;
  readonly set: (limits: Limits) => void;
  /** Scopes of the key that are no preset. */
  readonly ownScopes?: readonly Scope[] | undefined;
}) {
  const { of: limits, set, ownScopes } = props;
  const presets = scopePresets.map(({ name }) => [name, name] as const);
  const meaning =
    limits.use === own ? 'It keeps its scopes.' : (scopePresets.find(({ name }) => name === limits.use)?.meaning ?? '');
  return (
    <>
      <SelectField
        label="Used by"
        value={limits.use}
        set={(use) => set({ ...limits, use })}
        options={ownScopes ? [[own, `As now: ${ownScopes.join(', ')}`], ...presets] : presets}
        hint={meaning}
      />
      <SelectField
        label="Expires"
        value={limits.end}
        set={(end) => set({ ...limits, end: end as Limits['end'] })}
        options={Object.entries(ends)}
        hint={limits.end === 'never' ? 'It is valid until it is revoked.' : 'Then calls with it get 401.'}
      />
      {limits.end === 'date' && (
        <Field
          label="Last day"
          type="date"
          value={limits.day}
          set={(day) => set({ ...limits, day })}
          isRequired
          hint="The key is valid until 24:00 UTC of this day."
        />
      )}
    </>
  );
}

export function CreateDialog({ close, created }: { readonly close: () => void; readonly created: () => void }) {
  const { api } = useOrganisation();
  const sender = useSend();
  const [name, setName] = useState('');
  const [kind, setKind] = useState('live');
  const [rate, setRate] = useState('10');
  const [limits, setLimits] = useState<Limits>({ use: scopePresets[0].name, end: 'never', day: '' });
  const [key, setKey] = useState<NewKey>();
  const create = async () => {
    const [scopes, expires] = [scopesOf(limits), lastDay(limits)];
    const limited = { ...(scopes && { scopes }), ...(expires && { expires_at: expires }) };
    const body = { name, kind, rate_per_second: Number(rate), ...limited };
    const reply = await sender.send<NewKey>('POST', `${api}/keys`, body);
    if (reply === undefined) return;
    setKey(reply);
    created();
  };
  if (key !== undefined)
    return (
      <SecretDialog title={`Key ${key.name}`} secret={key.secret} copy="Copy key" done="I stored it" close={close}>
        The console shows this key once. Copy it to where it is used, or to a password manager.
      </SecretDialog>
    );
  return (
    <Dialog title="Create an API key" close={close} submit={create}>
      <Field label="Name" value={name} set={setName} isRequired hint="The program that uses it, such as HubSpot." />
      <SelectField
        label="Kind"
        value={kind}
        set={setKind}
        options={[
          ['live', 'Live: counts against the limit'],
          ['test', 'Test: free, stores no predictions'],
        ]}
      />
      <LimitFields of={limits} set={setLimits} />
      <Field label="Calls a second" type="number" min={1} max={10_000} value={rate} set={setRate} isRequired />
      {sender.problem && <Problem problem={sender.problem} />}
      <DialogButtons
        action="Create key"
        close={close}
        isBusy={sender.isBusy}
        isDisabled={name.trim() === '' || !isComplete(limits)}
      />
    </Dialog>
  );
}

/** Changes the name and the rate of a key, what it may do, and until when. */
export function ChangeDialog(props: { readonly of: Key; readonly close: () => void; readonly changed: () => void }) {
  const { api } = useOrganisation();
  const sender = useSend();
  const { key_id: id, name, rate_per_second: rate, scopes, expires_at: expires } = props.of;
  const preset = presetOf(scopes);
  const before: Limits = {
    use: preset?.name ?? own,
    end: expires === undefined ? 'never' : 'date',
    day: expires === undefined ? '' : new Date(Date.parse(expires) - 1).toISOString().slice(0, 10),
  };
  const [limits, setLimits] = useState(before);
  const [newName, setName] = useState(name);
  const [newRate, setRate] = useState(String(rate));
  const change = async () => {
    const body = {
      ...(newName === name ? {} : { name: newName }),
      ...(Number(newRate) === rate ? {} : { rate_per_second: Number(newRate) }),
      ...(limits.use === before.use ? {} : { scopes: scopesOf(limits) ?? null }),
      ...(lastDay(limits) === lastDay(before) ? {} : { expires_at: lastDay(limits) ?? null }),
    };
    if ((await sender.send('PATCH', `${api}/keys/${id}`, body)) === undefined) return;
    props.changed();
    props.close();
  };
  return (
    <Dialog title={`Change ${name}`} close={props.close} submit={change}>
      <p class="small soft">The key itself stays as it is. Calls follow the change within 5 seconds.</p>
      <Field label="Name" value={newName} set={setName} isRequired hint="The program that uses it, such as HubSpot." />
      <LimitFields of={limits} set={setLimits} ownScopes={preset === undefined ? scopes : undefined} />
      <Field label="Calls a second" type="number" min={1} max={10_000} value={newRate} set={setRate} isRequired />
      {sender.problem && <Problem problem={sender.problem} />}
      <DialogButtons
        action="Change key"
        close={props.close}
        isBusy={sender.isBusy}
        isDisabled={newName.trim() === '' || !isComplete(limits)}
      />
    </Dialog>
  );
}

export function RevokeDialog(props: { readonly of: Key; readonly close: () => void; readonly revoked: () => void }) {
  const { api } = useOrganisation();
  const sender = useSend();
  const { key_id: id, name } = props.of;
  const revoke = async () => {
    if ((await sender.send('DELETE', `${api}/keys/${id}`)) === undefined) return;
    props.revoked();
    props.close();
  };
  return (
    <ConfirmDialog
      title={`Revoke ${name}?`}
      action="Revoke key"
      name={name}
      sender={sender}
      close={props.close}
      run={revoke}
    >
      <p>Calls with this key get 401 at once. A revoked key cannot be restored.</p>
    </ConfirmDialog>
  );
}
