import { CsvRows } from '../../../../shared/files/csv-rows.js';
import { addedColumns } from '../../../../shared/files/result-columns.js';
import { writtenText } from '../../../../shared/files/spreadsheet-cell.js';
import { member, type RowOutcome, type ScoreRow } from '../calls/api-reply.js';
import type { RecordFormat } from '../input/input-file.js';

/** The form in which an earlier run has written its lines. */
export interface WrittenForm {
  readonly format: RecordFormat;
  readonly explain: boolean;
  /** Cells of a line of a CSV before the added ones. */
  readonly columns: number;
  readonly delimiter: string;
}

/**
 * Reads lines of an output back.
 * @returns one outcome for each line; undefined when they are not lines of such an output
 */
export function writtenResults(text: string, form: WrittenForm): RowOutcome[] | undefined {
  try {
    return form.format === 'jsonl' ? jsonResults(text) : csvResults(text, form);
  } catch {
    return undefined;
  }
}

function jsonResults(text: string): RowOutcome[] | undefined {
  const outcomes: RowOutcome[] = [];
  for (const line of text.split('\n').slice(0, -1)) {
    const { row, ...scored }: ScoreRow & { readonly row: number } = JSON.parse(line);
    const error = member(scored, 'error');
    if (typeof error === 'string') outcomes.push({ error });
    else if (typeof row === 'number' && typeof scored.score === 'number') outcomes.push({ scored });
    else return undefined;
  }
  return outcomes;
}

function csvResults(text: string, { explain, columns, delimiter }: WrittenForm): RowOutcome[] | undefined {
  const names = addedColumns(explain);
  const outcomes: RowOutcome[] = [];
  const rows = new CsvRows(text, { delimiter, maxCells: Number.POSITIVE_INFINITY, firstLine: 1 });
  while (rows.next()) {
    if (rows.count !== columns + names.length) return undefined;
    const cells = new Map(names.map((name, index) => [name, rows.cells[columns + index] ?? '']));
    const outcome = outcomeOf((name) => writtenText(cells.get(name) ?? ''));
    if (outcome === undefined) return undefined;
    outcomes.push(outcome);
  }
  return outcomes;
}

/** The output of a CSV has no more of a result than these members. */
function outcomeOf(cell: (name: string) => string): RowOutcome | undefined {
  const error = cell('error');
  if (error !== '') return { error };
  const score = cell('score');
  if (!/^\d+(\.\d+)?$/.test(score)) return undefined;
  const numberOf = (name: string) => (cell(name) === '' ? {} : { [name]: Number(cell(name)) });
  const textOf = (name: string) => (cell(name) === '' ? {} : { [name]: cell(name) });
  const warnings = cell('warnings');
  return {
    scored: {
      score: Number(score),
      conversion_likelihood: Number(cell('conversion_likelihood')),
      enriched: cell('enriched') === 'true',
      ...numberOf('previous_score'),
      ...numberOf('delta'),
      ...(warnings === '' ? {} : { warnings: [warnings] }),
      ...textOf('top_reason_1'),
      ...textOf('top_reason_2'),
      ...textOf('top_reason_3'),
    },
  };
}
