import type { ShapeOf } from '../../contract/schema.js';
import { csvLine } from '../../files/result-columns.js';
import { spreadsheetCell } from '../../files/spreadsheet-cell.js';
import type { auditEntrySchema } from '../schemas/people.js';

type Entry = ShapeOf<typeof auditEntrySchema>;

const columns: readonly (readonly [name: string, cell: (entry: Entry) => string])[] = [
  ['at', ({ at }) => at],
  ['person', ({ actor }) => actor.name],
  ['way', ({ actor }) => actor.way],
  ['address', ({ actor }) => actor.address ?? ''],
  ['sentence', ({ sentence }) => sentence],
  ['reason', ({ reason = '' }) => reason],
  ['action', ({ action }) => action],
  ['object', ({ target }) => target ?? ''],
  ['object_name', ({ target_name: name = '' }) => name],
  ['before', ({ before }) => (before === undefined ? '' : JSON.stringify(before))],
  ['after', ({ after }) => (after === undefined ? '' : JSON.stringify(after))],
  ['request_id', ({ request_id: id }) => id],
  ['entry_id', ({ entry_id: id }) => id],
];

/** The first line of a CSV of entries. */
export const auditCsvHead = csvLine(
  columns.map(([name]) => name),
  ',',
);

/** Lines of a CSV. A cell that a spreadsheet would take for a formula has an apostrophe before it. */
export const auditCsvLines = (entries: readonly Entry[]): string =>
  entries
    .map((entry) =>
      csvLine(
        columns.map(([, cell]) => spreadsheetCell(cell(entry))),
        ',',
      ),
    )
    .join('');
