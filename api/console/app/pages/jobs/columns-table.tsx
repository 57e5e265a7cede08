import { countText } from '../../parts/formats.js';
import { useSome } from '../../parts/some.js';
import { Table } from '../../parts/table.js';
import type { Preview } from './preview.js';

/** The columns of a file beside the fields of the model. */
export function ColumnsTable({ preview }: { readonly preview: Preview }) {
  const { columns, more_columns: others, missing, fields } = preview;
  const word = preview.format === 'csv' ? 'columns' : 'members';
  const { shown, more } = useSome(columns, { words: word });
  const known = fields - missing.length;
  return (
    <>
      <p>
        <strong>
          {countText(known)} of {countText(fields)} fields of the model are in the file.
        </strong>
      </p>
      <Table
        label="Columns of the file"
        columns={[preview.format === 'csv' ? 'Column' : 'Member', 'Field of the model']}
        rows={shown.map((column) => [
          column.name,
          column.is_id ? (
            <span key="id" class="badge on">
              id of the lead
            </span>
          ) : column.field !== undefined ? (
            column.field
          ) : (
            <span key="unknown">
              <span class="badge warn">unknown</span>
              {column.did_you_mean && ` perhaps ${column.did_you_mean}`}
            </span>
          ),
        ])}
      />
      {more}
      {others > 0 && (
        <p class="small soft">
          And {countText(others)} more {word}.
        </p>
      )}
      {missing.length > 0 && (
        <details>
          <summary>
            Not in the file: {countText(missing.length)} {missing.length === 1 ? 'field' : 'fields'}
          </summary>
          <ul class="small" aria-label="Missing fields">
            {missing.map((field) => (
              <li key={field}>{field}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
