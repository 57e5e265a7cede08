import { countText } from '../../parts/formats.js';
import { Card } from '../../parts/page.js';
import { useSome } from '../../parts/some.js';
import { Table } from '../../parts/table.js';
import type { JobPage } from './job-words.js';

type Summary = NonNullable<JobPage['input_summary']>;

/** How the fields of the scored rows were read. Fields that need attention come first. */
export function InputTable({ summary: { records, fields, ignored, ignored_more } }: { readonly summary: Summary }) {
  const byAttention = fields.toSorted(
    (one, other) => Number(needsCare(other, records)) - Number(needsCare(one, records)),
  );
  const { shown, more } = useSome(byAttention, { words: 'fields' });
  return (
    <Card title="Fields" about={`How the values of ${countText(records)} scored rows were read.`}>
      <Table
        label="Fields of the model"
        columns={['Field', 'Sent', 'Not read', 'Not seen in training', 'Note']}
        rows={shown.map((field) => [
          field.field,
          countText(field.sent),
          countText(field.unread),
          countText(field.unseen),
          noteOf(field, records),
        ])}
      />
      {more}
      {ignored.length > 0 && (
        <>
          <p class="small soft">Columns that the model does not know:</p>
          <ul class="small" aria-label="Unknown columns">
            {ignored.map(({ name, did_you_mean: meant }) => (
              <li key={name}>
                {name}
                {meant && ` (perhaps ${meant})`}
              </li>
            ))}
            {ignored_more && <li>and {countText(ignored_more)} more</li>}
          </ul>
        </>
      )}
    </Card>
  );
}

type Field = Summary['fields'][number];

const needsCare = (field: Field, records: number): boolean => noteOf(field, records) !== '';

function noteOf({ sent, unread, reason, ambiguous = 0, date_order: order }: Field, records: number): string {
  const notes = [
    sent === 0 && records > 0 ? 'No row has it.' : '',
    unread > 0 && reason ? `${reason[0]?.toUpperCase()}${reason.slice(1)}.` : '',
    ambiguous > 0 ? `${countText(ambiguous)} dates can be read in two ways; read as ${order ?? 'day and month'}.` : '',
  ];
  return notes.filter((note) => note !== '').join(' ');
}
