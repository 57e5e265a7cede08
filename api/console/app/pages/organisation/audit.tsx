import { useEffect, useState } from 'preact/hooks';
import type { auditEntrySchema, listAuditOutput } from '../../../../../shared/admin/schemas/people.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { instantText, wordsOf } from '../../parts/formats.js';
import { SelectField } from '../../parts/forms/field.js';
import { RangeChoice } from '../../parts/forms/range.js';
import { Card, Load, Page, Problem } from '../../parts/page.js';
import { call } from '../../server/call.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { useRange } from '../../server/use-range.js';

type Entry = ShapeOf<typeof auditEntrySchema>;
type Entries = ShapeOf<typeof listAuditOutput>;

/** The first words of actions, by what they change. */
const kinds = [
  ['', 'Everything'],
  ['key', 'API keys'],
  ['model', 'Models'],
  ['upload', 'Uploads of models'],
  ['lead', 'Leads'],
  ['outcomes', 'Outcomes'],
  ['job', 'Jobs'],
  ['member', 'Members'],
  ['link', 'Sign-in links'],
  ['session', 'Sessions'],
  ['org', 'Settings'],
] as const;
const noFilter = { actor: '', kind: '' };
type Filter = typeof noFilter;

/** Each change, by whom and when, latest first. */
export function AuditPage() {
  const { api } = useOrganisation();
  const [filter, setFilter] = useState(noFilter);
  const [actors, setActors] = useState<readonly string[]>([]);
  const [range, setRange] = useRange(undefined);
  const query = new URLSearchParams(Object.entries({ ...filter, ...range }).filter(([, value]) => value !== ''));
  const path = `${api}/audit?${query}`;
  const first = useLoad<Entries>(path);
  // The names stay while another filter loads.
  useEffect(() => {
    if (first.data?.actors) setActors(first.data.actors);
  }, [first.data]);
  const clear = () => {
    setFilter(noFilter);
    setRange(undefined);
  };
  return (
    <Page
      title="Audit log"
      actions={
        <a class="button" href={`/admin/v1${path}&format=csv`} download>
          Download CSV
        </a>
      }
      about="Each change, and each read of leads, by people, programs and the command line. Entries cannot be changed."
    >
      <Card title="Changes" about="The CSV has all entries that the filter leaves, at most the latest 100,000.">
        <RangeChoice range={range} set={setRange} hasAll />
        <FilterFields of={filter} set={setFilter} clear={clear} actors={actors} />
        <Load of={first}>{(data) => <EntryList key={path} first={data} path={path} />}</Load>
      </Card>
    </Page>
  );
}

function FilterFields(props: {
  readonly of: Filter;
  readonly set: (filter: Filter) => void;
  readonly clear: () => void;
  readonly actors: readonly string[];
}) {
  const { of: filter, set, clear } = props;
  const change = (name: keyof Filter) => (value: string) => set({ ...filter, [name]: value });
  const people = [['', 'Everybody'] as const, ...props.actors.map((name) => [name, name] as const)];
  return (
    <div class="form">
      <SelectField label="By" value={filter.actor} set={change('actor')} options={people} />
      <SelectField label="About" value={filter.kind} set={change('kind')} options={kinds} />
      {Object.values(filter).some((value) => value !== '') && (
        <button type="button" class="button" onClick={clear}>
          Show all changes
        </button>
      )}
    </div>
  );
}

/** The pages of the log so far. */
function EntryList({ first, path }: { readonly first: Entries; readonly path: string }) {
  const [more, setMore] = useState<readonly Entries[]>([]);
  const [problem, setProblem] = useState<Error>();
  const pages = [first, ...more];
  const entries = pages.flatMap((page) => page.entries);
  const next = pages.at(-1)?.next;
  const loadMore = (before: string) =>
    call<Entries>('GET', `${path}&before=${encodeURIComponent(before)}`).then((page) => {
      setProblem(undefined);
      setMore((loaded) => [...loaded, page]);
    }, setProblem);
  return (
    <>
      {entries.length === 0 && <p class="soft">{next ? 'None among the latest changes.' : 'No such changes.'}</p>}
      <ul class="rows">
        {entries.map((entry) => (
          <EntryRow key={entry.entry_id} entry={entry} />
        ))}
      </ul>
      {problem && <Problem problem={problem} />}
      {next && (
        <button type="button" class="button" onClick={() => loadMore(next)}>
          Show earlier changes
        </button>
      )}
    </>
  );
}

function EntryRow({ entry }: { readonly entry: Entry }) {
  const names = [...new Set([...Object.keys(entry.before ?? {}), ...Object.keys(entry.after ?? {})])];
  return (
    <li class="entry">
      <div>
        <p>{entry.sentence}</p>
        <p class="small soft">
          {instantText(entry.at)}, {entry.actor.way}
          {entry.actor.address && ` from ${entry.actor.address}`}
          {entry.target && (
            <>
              , <code>{entry.target}</code>
            </>
          )}
        </p>
        {entry.reason && <p class="small">Reason: {entry.reason}</p>}
        {names.length > 0 && (
          <details>
            <summary>Show values</summary>
            <dl class="values small">
              {names.map((name) => (
                <div key={name}>
                  <dt>{wordsOf(name)}</dt>
                  <dd>
                    {entry.before && name in entry.before && <del>{textOf(entry.before[name])}</del>}{' '}
                    {entry.after && name in entry.after && <ins>{textOf(entry.after[name])}</ins>}
                  </dd>
                </div>
              ))}
            </dl>
          </details>
        )}
      </div>
    </li>
  );
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
