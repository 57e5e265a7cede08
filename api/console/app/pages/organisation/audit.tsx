import { useState } from 'preact/hooks';
import type { auditEntrySchema, listAuditOutput } from '../../../../../shared/admin/schemas/people.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { instantText, wordsOf } from '../../parts/formats.js';
import { Card, Load, Page, Problem } from '../../parts/page.js';
import { call } from '../../server/call.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';

type Entry = ShapeOf<typeof auditEntrySchema>;
type Entries = ShapeOf<typeof listAuditOutput>;

/** Each change, by whom and when, latest first. */
export function AuditPage() {
  const { api } = useOrganisation();
  const first = useLoad<Entries>(`${api}/audit`);
  const [more, setMore] = useState<readonly Entries[]>([]);
  const [problem, setProblem] = useState<Error>();
  const loadMore = (before: string) =>
    call<Entries>('GET', `${api}/audit?before=${encodeURIComponent(before)}`).then((page) => {
      setProblem(undefined);
      setMore((pages) => [...pages, page]);
    }, setProblem);
  return (
    <Page title="Audit log" about="Each change by people, programs and the command line. Entries cannot be changed.">
      <Load of={first}>
        {(data) => {
          const pages = [data, ...more];
          const entries = pages.flatMap((page) => page.entries);
          const next = pages.at(-1)?.next;
          return (
            <Card title="Changes">
              {entries.length === 0 && <p class="soft">No changes yet.</p>}
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
            </Card>
          );
        }}
      </Load>
    </Page>
  );
}

function EntryRow({ entry }: { readonly entry: Entry }) {
  const names = [...new Set([...Object.keys(entry.before ?? {}), ...Object.keys(entry.after ?? {})])];
  return (
    <li class="entry">
      <div>
        <strong>{wordsOf(entry.action)}</strong> {entry.target && <code>{entry.target}</code>}
        <p class="small soft">
          {entry.actor.name} by {entry.actor.way}
          {entry.actor.address && ` from ${entry.actor.address}`}, {instantText(entry.at)}
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
