import { useState } from 'preact/hooks';
import { Choice } from '../../parts/choice.js';
import { countText } from '../../parts/formats.js';
import { Card, Problem } from '../../parts/page.js';
import { useOrganisation } from '../../server/session.js';
import { useSend } from '../../server/use-send.js';
import type { Outcomes } from './gate-moves.js';
import type { Counted, Mark } from './send-file.js';

const marks = ['won', 'lost', 'ignored'] as const;

/** Lets a person mark each value of the outcome column, and sends the rows. */
export function ValuesCard(props: {
  readonly counted: Counted;
  readonly known: Outcomes;
  readonly isBusy: boolean;
  readonly send: (marked: ReadonlyMap<string, Mark>) => void;
}) {
  const { counted, isBusy } = props;
  const { values, withoutValue } = counted;
  const [marked, setMarked] = useState<ReadonlyMap<string, Mark>>(new Map());
  const markOf = (value: Counted['values'][number]) => marked.get(value.value) ?? value.suggested ?? undefined;
  const open = values.filter((value) => markOf(value) === undefined).length;
  const all = new Map(values.map((value) => [value.value, markOf(value) ?? 'ignored']));
  const rows = values.reduce((sum, each) => sum + (markOf(each) === 'ignored' ? 0 : each.rows), 0);
  return (
    <Card
      title="2. Say what the values mean"
      about="Won: the lead has converted. Lost: it has not, also while its deal is open. Ignored: its row is passed over."
    >
      <ul class="rows">
        {values.map((value) => (
          <li key={value.value}>
            <div>
              <strong>{value.value}</strong> <span class="small soft">{countText(value.rows)} rows</span>{' '}
              {value.suggested !== null && !marked.has(value.value) && <span class="badge warn">suggested</span>}
            </div>
            <Choice
              label={`Meaning of ${value.value}`}
              options={marks}
              chosen={markOf(value)}
              choose={(mark) => setMarked(new Map([...marked, [value.value, mark]]))}
            />
          </li>
        ))}
      </ul>
      {withoutValue > 0 && (
        <p class="small soft">{countText(withoutValue)} rows have no outcome. They are reported, and not stored.</p>
      )}
      <div class="row">
        <button
          type="button"
          class="button main"
          disabled={isBusy || open > 0 || rows === 0}
          onClick={() => props.send(all)}
        >
          Send {countText(rows)} rows
        </button>
        {open > 0 && (
          <span class="small soft">{open === 1 ? '1 value is' : `${countText(open)} values are`} not marked yet.</span>
        )}
        {open === 0 && rows === 0 && <span class="small soft">All rows are ignored, so there is nothing to send.</span>}
      </div>
      <Remember known={props.known} marked={all} isDisabled={isBusy || open > 0} />
    </Card>
  );
}

/** Stores the meanings for the webhook, and for the suggestions of the next file. */
function Remember(props: {
  readonly known: Outcomes;
  readonly marked: ReadonlyMap<string, Mark>;
  readonly isDisabled: boolean;
}) {
  const { known, marked } = props;
  const { api } = useOrganisation();
  const sender = useSend();
  const [isSaved, setSaved] = useState(false);
  const fold = (value: string) => value.trim().toLowerCase();
  const here = new Set([...marked.keys()].map(fold));
  const of = (mark: Mark, before: readonly string[]) => [
    ...before.filter((value) => !here.has(fold(value))),
    ...[...marked].filter(([, each]) => each === mark).map(([value]) => value),
  ];
  const save = async () => {
    setSaved(false);
    const body = { won_values: of('won', known.won_values), lost_values: of('lost', known.lost_values) };
    setSaved((await sender.send('PATCH', `${api}/outcomes`, body)) !== undefined);
  };
  return (
    <>
      <div class="row">
        <button type="button" class="button" disabled={props.isDisabled || sender.isBusy} onClick={save}>
          Remember these values
        </button>
        <span role="status" class="small soft">
          {props.isDisabled && 'Mark all values first. '}
          {isSaved ? 'Saved' : 'For the outcome webhook, and as suggestions for the next file.'}
        </span>
      </div>
      {sender.problem && <Problem problem={sender.problem} />}
    </>
  );
}
