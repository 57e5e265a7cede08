import { countText } from '../../parts/formats.js';
import { Card } from '../../parts/page.js';
import { Strip } from '../../parts/strip.js';
import type { Reply } from './send-file.js';

/** The figures of the sent rows, why ids may differ, and the rows that were not stored. */
export function ResultCard({ reply, parts }: { readonly reply: Reply; readonly parts: number }) {
  const { known = 0, unknown = 0, ignored = 0, problems, notes } = reply;
  const figures = [
    ['Stored rows', countText(reply.accepted), `${countText(reply.converted)} won`],
    ['Leads with a score', countText(known), ''],
    ['Leads without a score', countText(unknown), ''],
    ['Repeated leads', countText(reply.repeated), 'rows'],
    ['Ignored', countText(ignored), 'rows'],
    ['Not stored', countText(reply.refused), 'rows'],
  ] as const;
  return (
    <>
      <Strip label="Sent outcomes" figures={figures} />
      <Card title="3. Read the result">
        {problems.length + unknown === 0 && (
          <p class="note good">All sent rows are stored, and all leads have a score.</p>
        )}
        {unknown > 0 && <Unknown reply={reply} />}
        {problems.length > 0 && (
          <ul class="notes" aria-label="Rows that were not stored">
            {problems.map((each) => (
              <li key={each.problem} class="note bad">
                {problemText(each)}
              </li>
            ))}
          </ul>
        )}
        {notes.length > 0 && (
          <ul class="notes" aria-label="Notes about the file">
            {notes.map((note) => (
              <li key={note} class="note">
                {note}.
              </li>
            ))}
          </ul>
        )}
        {parts > 1 && (
          <p class="small soft">
            The file was sent in {countText(parts)} parts. A lead with rows in several parts counts in each of them.
          </p>
        )}
      </Card>
    </>
  );
}

function Unknown({ reply: { known = 0, unknown = 0, ...reply } }: { readonly reply: Reply }) {
  return (
    <div class="note warn">
      <p>
        {countText(unknown)} of {countText(known + unknown)} leads have no stored score, such as{' '}
        <code>{reply.unknown_example}</code>.{' '}
        {reply.scored_example === undefined ? (
          'No lead of the organisation has one.'
        ) : (
          <>
            A lead with a score is <code>{reply.scored_example}</code>.
          </>
        )}
      </p>
      <p class="small">
        If these look different, the file has other ids than your calls. Export it again with the id that the calls send
        as crm_id. The outcomes are kept, and count once their leads are scored under the same id.
      </p>
    </div>
  );
}

function problemText({ problem, rows, first, values }: Reply['problems'][number]): string {
  const lines = first.map(({ line }) => countText(line)).join(', ');
  const more = rows > first.length ? ` and ${countText(rows - first.length)} more` : '';
  const found = values.map((value) => (value === '' ? 'empty' : JSON.stringify(value))).join(', ');
  return `${rows === 1 ? 'Line' : 'Lines'} ${lines}${more}: ${problem}${found === '' ? '' : `, but is ${found}`}.`;
}
