import { useState } from 'preact/hooks';
import type { findKeyOutput } from '../../../../../../shared/admin/schemas/keys.js';
import type { ShapeOf } from '../../../../../../shared/contract/schema.js';
import { instantText, shortDayText } from '../../../parts/formats.js';
import { Field } from '../../../parts/forms/field.js';
import { Card, Problem } from '../../../parts/page.js';
import { useOrganisation } from '../../../server/session.js';
import { useSend } from '../../../server/use-send.js';

type Found = ShapeOf<typeof findKeyOutput>;

/** Names the key with a secret that a person has found somewhere. */
export function KeyFinder() {
  const { api } = useOrganisation();
  const sender = useSend();
  const [secret, setSecret] = useState('');
  const [found, setFound] = useState<Found>();
  const find = async (event: Event) => {
    event.preventDefault();
    setFound(undefined);
    const reply = await sender.send<Found>('POST', `${api}/key-search`, { secret });
    if (reply === undefined) return;
    setFound(reply);
    // The page must not show it any longer than needed.
    setSecret('');
  };
  return (
    <Card
      title="Which key is this?"
      about="Paste a key that you found in a CRM or a program. The console compares its hash, and stores nothing."
    >
      <form class="form" onSubmit={find}>
        <Field label="Secret of a key" value={secret} set={setSecret} maxLength={1_000} isRequired isSecret />
        <button type="submit" class="button" disabled={sender.isBusy}>
          Find
        </button>
      </form>
      <div role="status">{found && <Answer of={found} />}</div>
      {sender.problem && <Problem problem={sender.problem} />}
    </Card>
  );
}

function Answer({ of: { key, is_whole: isWhole } }: { readonly of: Found }) {
  if (!isWhole) return <p>This is no whole key of this service. Paste it from its first to its last character.</p>;
  if (key === undefined)
    return <p>No key of this organisation has this secret. Another organisation or installation may have it.</p>;
  const { name, kind, state, last_used_at: used, created_at: created } = key;
  return (
    <p>
      This is <strong>{name}</strong>, a {kind} key of {shortDayText(created)}. It is {state}
      {used ? `. Its last use was on ${instantText(used)}.` : ', and had no use in the last 400 days.'}
    </p>
  );
}
