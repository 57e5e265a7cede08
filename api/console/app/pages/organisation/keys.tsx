import { useState } from 'preact/hooks';
import type { createKeyOutput, listKeysOutput } from '../../../../../shared/admin/schemas/keys.js';
import { scopePresets } from '../../../../../shared/contract/roles.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { countText, instantText } from '../../parts/formats.js';
import { ConfirmDialog, Dialog, DialogButtons, SecretDialog } from '../../parts/forms/dialog.js';
import { Field, SelectField } from '../../parts/forms/field.js';
import { Card, Load, Page, Problem } from '../../parts/page.js';
import { useSome } from '../../parts/some.js';
import { Table } from '../../parts/table.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { useSend } from '../../server/use-send.js';

type Key = ShapeOf<typeof listKeysOutput>['keys'][number];
type NewKey = ShapeOf<typeof createKeyOutput>;

/** The API keys of an organisation. */
export function KeysPage() {
  const { api, may } = useOrganisation();
  const keys = useLoad<ShapeOf<typeof listKeysOutput>>(`${api}/keys`);
  const [isCreating, setCreating] = useState(false);
  const [revoked, setRevoked] = useState<Key>();
  const actions = may('admin') && (
    <button type="button" class="button main" onClick={() => setCreating(true)}>
      Create key
    </button>
  );
  return (
    <Page title="API keys" about="A key identifies a program that scores leads. Test keys are free." actions={actions}>
      <Load of={keys}>{({ keys: all }) => <KeyList keys={all} revoke={may('admin') ? setRevoked : undefined} />}</Load>
      {isCreating && <CreateDialog close={() => setCreating(false)} created={keys.reload} />}
      {revoked && <RevokeDialog of={revoked} close={() => setRevoked(undefined)} revoked={keys.reload} />}
    </Page>
  );
}

function KeyList(props: { readonly keys: readonly Key[]; readonly revoke: ((key: Key) => void) | undefined }) {
  const valid = props.keys.filter((key) => key.revoked_at === undefined);
  const revoked = props.keys.filter((key) => key.revoked_at !== undefined);
  const { shown, more } = useSome(valid, { words: 'keys' });
  const revokedSome = useSome(revoked, { words: 'revoked keys' });
  const { revoke } = props;
  return (
    <>
      <Card title="Valid keys" about="The last use is up to a minute late.">
        {valid.length === 0 && (
          <p class="soft">No valid key. Create one, and paste it into your CRM or into your program.</p>
        )}
        {valid.length > 0 && (
          <Table
            label="Valid keys"
            columns={[
              'Name',
              'Kind',
              'May',
              'Rate',
              'Last used',
              'Calls this month',
              'Created',
              ...(revoke ? ['Action'] : []),
            ]}
            rows={shown.map((key) => [
              <strong key="name">{key.name}</strong>,
              <KindBadge key="kind" kind={key.kind} />,
              mayText(key),
              `${countText(key.rate_per_second)} a second`,
              instantText(key.last_used_at),
              countText(key.calls_this_month ?? 0),
              instantText(key.created_at),
              ...(revoke
                ? [
                    <button
                      key="revoke"
                      type="button"
                      class="button"
                      aria-label={`Revoke ${key.name}`}
                      onClick={() => revoke(key)}
                    >
                      Revoke…
                    </button>,
                  ]
                : []),
            ])}
          />
        )}
        {more}
      </Card>
      {revoked.length > 0 && (
        <details class="card">
          <summary>Revoked keys ({countText(revoked.length)})</summary>
          <Table
            label="Revoked keys"
            columns={['Name', 'Kind', 'Last used', 'Revoked']}
            rows={revokedSome.shown.map((key) => [
              key.name,
              <KindBadge key="kind" kind={key.kind} />,
              instantText(key.last_used_at),
              instantText(key.revoked_at),
            ])}
          />
          {revokedSome.more}
        </details>
      )}
    </>
  );
}

/** The use of a key whose scopes are a known set, else the scopes. */
function mayText({ scopes }: Key): string {
  if (scopes === undefined) return 'Everything';
  const preset = scopePresets.find((each) => each.scopes?.join() === scopes.join());
  return preset?.name ?? scopes.join(', ');
}

const KindBadge = ({ kind }: { readonly kind: string }) => (
  <span class={kind === 'live' ? 'badge on' : 'badge'}>{kind}</span>
);

function CreateDialog({ close, created }: { readonly close: () => void; readonly created: () => void }) {
  const { api } = useOrganisation();
  const sender = useSend();
  const [name, setName] = useState('');
  const [kind, setKind] = useState('live');
  const [rate, setRate] = useState('10');
  const [use, setUse] = useState<string>(scopePresets[0].name);
  const [key, setKey] = useState<NewKey>();
  const create = async () => {
    const scopes = scopePresets.find((each) => each.name === use)?.scopes;
    const body = { name, kind, rate_per_second: Number(rate), ...(scopes && { scopes }) };
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
      <SelectField
        label="Used by"
        value={use}
        set={setUse}
        options={scopePresets.map((each) => [each.name, each.name])}
        hint={scopePresets.find((each) => each.name === use)?.meaning ?? ''}
      />
      <Field label="Calls a second" type="number" min={1} max={10_000} value={rate} set={setRate} isRequired />
      {sender.problem && <Problem problem={sender.problem} />}
      <DialogButtons action="Create key" close={close} isBusy={sender.isBusy} isDisabled={name.trim() === ''} />
    </Dialog>
  );
}

function RevokeDialog(props: { readonly of: Key; readonly close: () => void; readonly revoked: () => void }) {
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
