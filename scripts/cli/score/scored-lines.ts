import type { ScoreRow } from './api-reply.js';
import type { RecordFormat } from './input-file.js';
import type { ScoredBatch } from './score-batch.js';

const columns = [
  'crm_id',
  'row',
  'score',
  'conversion_likelihood',
  'enriched',
  'previous_score',
  'delta',
  'warnings',
] as const;
const reasonColumns = ['top_reason_1', 'top_reason_2', 'top_reason_3'] as const;

/** How results are written. */
export interface OutputForm {
  readonly format: RecordFormat;
  readonly explain: boolean;
}

/** What stands before the first result: a CSV's column names. */
export const headerText = ({ format, explain }: OutputForm): string =>
  format === 'jsonl' ? '' : `${[...columns, ...(explain ? reasonColumns : [])].join(',')}\n`;

/** The results of a batch as text, one line a record. JSONL lines are the API's rows with the file's row beside. */
export function scoredText({ batch, rows }: ScoredBatch, form: OutputForm): string {
  const lines = rows.map((scored, index) => {
    const row = batch.records[index]?.row ?? 0;
    return form.format === 'jsonl' ? JSON.stringify({ row, ...scored }) : csvLine(scored, row, form);
  });
  return lines.map((line) => `${line}\n`).join('');
}

function csvLine(scored: ScoreRow, row: number, { explain }: OutputForm): string {
  const cells = [
    scored.crm_id,
    row,
    scored.score,
    scored.conversion_likelihood,
    scored.enriched,
    scored.previous_score,
    scored.delta,
    scored.warnings?.join('; '),
    ...(explain ? reasonColumns.map((name) => scored[name]) : []),
  ];
  return cells.map(csvCell).join(',');
}

function csvCell(value: string | number | boolean | null | undefined): string {
  const text = String(value ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
