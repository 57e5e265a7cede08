import { useState } from 'preact/hooks';
import type { listKeysOutput } from '../../../../../../shared/admin/schemas/keys.js';
import { presetOf } from '../../../../../../shared/contract/roles.js';
import type { ShapeOf } from '../../../../../../shared/contract/schema.js';
import { countText, instantText, shortDayText } from '../../../parts/formats.js';
import { Card, Load, Page } from '../../../parts/page.js';
import { useSome } from '../../../parts/some.js';
import { Table } from '../../../parts/table.js';
import { useOrganisation } from '../../../server/session.js';
import { useLoad } from '../../../server/use-load.js';
import { ChangeDialog, CreateDialog, type Key, RevokeDialog } from './key-dialogs.js';
import { KeyFinder } from './key-finder.js';

/** The API keys of an organisation. */
export function KeysPage() {
  const { api, may } = useOrganisation();
  const keys = useLoad<ShapeOf<typeof listKeysOutput>>(`${api}/keys`);
  const [isCreating, setCreating] = useState(false);
  const [changed, setChanged] = useState<Key>();
  const [revoked, setRevoked] = useState<Key>();
  const actions = may('admin') && (
    <button type="button" class="button main" onClick={() => setCreating(true)}>
      Create key
    </button>
  );
  const change = may('admin') ? { change: setChanged, revoke: setRevoked } : undefined;
  return (
    <Page title="API keys" about="A key identifies a program that scores leads. Test keys are free." actions={actions}>
      <Load of={keys}>
        {({ keys: all }) => (
          <>
            <NeedCalls keys={all.filter(({ needs_call: needs }) => needs)} />
            <KeyList keys={all} actions={change} />
          </>
        )}
      </Load>
      <KeyFinder />
      {isCreating && <CreateDialog close={() => setCreating(false)} created={keys.reload} />}
      {changed && <ChangeDialog of={changed} close={() => setChanged(undefined)} changed={keys.reload} />}
      {revoked && <RevokeDialog of={revoked} close={() => setRevoked(undefined)} revoked={keys.reload} />}
    </Page>
  );
}

interface KeyActions {
  readonly change: (key: Key) => void;
  readonly revoke: (key: Key) => void;
}

/** Keys that the operator's roll-out of a new pepper has not reached. */
function NeedCalls({ keys }: { readonly keys: readonly Key[] }) {
  if (keys.length === 0) return null;
  const names = keys.slice(0, 5).map(({ name }) => name);
  const more = keys.length > names.length ? ` and ${countText(keys.length - names.length)} more` : '';
  return (
    <p class="note warn">
      The operator replaces the secret with which keys are stored. Use each of these keys once before the replacement
      ends, or it is revoked: <strong>{names.join(', ')}</strong>
      {more}. Nothing changes in your programs.
    </p>
  );
}

function KeyList({ keys, actions }: { readonly keys: readonly Key[]; readonly actions: KeyActions | undefined }) {
  const valid = keys.filter(({ state }) => state === 'valid');
  const expired = keys.filter(({ state }) => state === 'expired');
  const revoked = keys.filter(({ state }) => state === 'revoked');
  const revokedSome = useSome(revoked, { words: 'revoked keys' });
  return (
    <>
      <Card title="Valid keys" about="The last use is up to a minute late. A key without an end has no date.">
        {valid.length === 0 && (
          <p class="soft">No valid key. Create one, and paste it into your CRM or into your program.</p>
        )}
        {valid.length > 0 && <KeyTable label="Valid keys" keys={valid} actions={actions} />}
      </Card>
      {expired.length > 0 && (
        <details class="card" open>
          <summary>Expired keys ({countText(expired.length)})</summary>
          <p class="small soft">Calls with them get 401. A later date makes a key valid again.</p>
          <KeyTable label="Expired keys" keys={expired} actions={actions} />
        </details>
      )}
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

/** Keys that are not revoked. */
function KeyTable(props: {
  readonly label: string;
  readonly keys: readonly Key[];
  readonly actions: KeyActions | undefined;
}) {
  const { label, actions } = props;
  const { shown, more } = useSome(props.keys, { words: 'keys' });
  return (
    <>
      <Table
        label={label}
        columns={[
          'Name',
          'Kind',
          'May',
          'Rate',
          'Last used',
          'Calls this month',
          'Last day',
          'Created',
          ...(actions ? ['Actions'] : []),
        ]}
        rows={shown.map((key) => [
          <strong key="name">{key.name}</strong>,
          <KindBadge key="kind" kind={key.kind} />,
          presetOf(key.scopes)?.name ?? key.scopes?.join(', '),
          `${countText(key.rate_per_second)} a second`,
          instantText(key.last_used_at),
          countText(key.calls_this_month ?? 0),
          lastDayText(key),
          shortDayText(key.created_at),
          ...(actions ? [<Buttons key="actions" of={key} {...actions} />] : []),
        ])}
      />
      {more}
    </>
  );
}

const Buttons = ({ of: key, change, revoke }: KeyActions & { readonly of: Key }) => (
  <span class="whole">
    <button type="button" class="button" aria-label={`Change ${key.name}`} onClick={() => change(key)}>
      Change…
    </button>{' '}
    <button type="button" id={key.key_id} class="button" aria-label={`Revoke ${key.name}`} onClick={() => revoke(key)}>
      Revoke…
    </button>
  </span>
);

/** The last day on which a key can be used. One that expires at midnight cannot be used on the day that begins then. */
const lastDayText = ({ expires_at: at }: Key): string => (at === undefined ? '–' : shortDayText(Date.parse(at) - 1));

const KindBadge = ({ kind }: { readonly kind: string }) => (
  <span class={kind === 'live' ? 'badge on' : 'badge'}>{kind}</span>
);
