import type { FileForm } from '../../../shared/files/file-form.js';
import { csvLine, keptColumns, reasonColumns } from '../../../shared/files/result-columns.js';
import { csvCell, spreadsheetCell } from '../../../shared/files/spreadsheet-cell.js';
import { rowMembers } from '../../call/score-reply.js';
import type { ParsedRow, RowProblem } from './parse-rows.js';

/** A scored row. */
export interface RowResult {
  readonly score: number;
  readonly conversion_likelihood: number;
  readonly enriched: boolean;
  readonly previous_score: number | null;
  readonly warnings: readonly string[];
  /** The sentences of `top_reason_1..3`; absent unless the job explains. */
  readonly reasons?: readonly (string | null)[];
  /** The members `drivers` and `top_reason_1..3` as JSON, each with a leading comma, for JSONL: see `driverMembers`. */
  readonly explained?: string;
}

type ResultOf = (row: ParsedRow) => RowResult | undefined;
type ProblemOf = (row: ParsedRow) => RowProblem | undefined;

/**
 * The lines of the results: one for each row.
 * @param resultOf undefined for a row that was not scored
 * @param problemOf undefined for a scored or an empty row
 */
export function resultText(
  rows: readonly ParsedRow[],
  resultOf: ResultOf,
  problemOf: ProblemOf,
  { shape, options }: FileForm,
): string {
  const lineOf = shape.format === 'csv' ? csvResult : jsonResult;
  let text = '';
  for (const row of rows)
    text += lineOf(row, { result: resultOf(row), problem: problemOf(row), form: { shape, options } });
  return text;
}

interface Fate {
  readonly result: RowResult | undefined;
  readonly problem: RowProblem | undefined;
  readonly form: FileForm;
}

function csvResult(row: ParsedRow, { result, problem, form: { shape, options } }: Fate): string {
  const { delimiter } = shape;
  const cell = (text: string): string => csvCell(spreadsheetCell(text), delimiter);
  let line = options.include_input ? row.input : `${row.row}${delimiter}${cell(row.crmId ?? '')}`;
  if (result === undefined) {
    line += delimiter.repeat(keptColumns + 1);
  } else {
    const { score, previous_score: previous } = result;
    const change = previous === null ? delimiter : `${previous}${delimiter}${score - previous}`;
    line += `${delimiter}${score}${delimiter}${result.conversion_likelihood}${delimiter}${result.enriched}`;
    line += `${delimiter}${change}${delimiter}${cell(result.warnings.join('; '))}`;
  }
  if (options.explain)
    for (let rank = 0; rank < reasonColumns.length; rank += 1) line += delimiter + cell(result?.reasons?.[rank] ?? '');
  return `${line}${delimiter}${problem === undefined ? '' : cell(sentenceOf(problem))}\n`;
}

function jsonResult(row: ParsedRow, { result, problem, form: { options } }: Fate): string {
  const { crmId } = row;
  const input = options.include_input ? `,"input":${row.input}` : '';
  const head = `{"row":${row.row}`;
  if (result !== undefined) {
    const { score, conversion_likelihood: likelihood, enriched, previous_score: previousScore, warnings } = result;
    const explained = result.explained ?? reasonMembers(result.reasons);
    const members = { score, likelihood, enriched, crmId, previousScore, explained, warnings };
    return `${head},${rowMembers(members, 'conversion_likelihood')}${input}}\n`;
  }
  const id = crmId === null ? '' : `,"crm_id":${JSON.stringify(crmId)}`;
  const fate = problem === undefined ? '"empty":true' : `"error":${JSON.stringify(sentenceOf(problem))}`;
  return `${head}${id},${fate}${input}}\n`;
}

const reasonMembers = (reasons: RowResult['reasons']): string =>
  reasons === undefined
    ? ''
    : reasonColumns.map((name, rank) => `,"${name}":${JSON.stringify(reasons[rank] ?? null)}`).join('');

const sentenceOf = ({ field, message }: RowProblem): string => (field === '' ? message : `${field}: ${message}`);

/** The lines of the list of errors: one for each row with a problem. */
export function errorText(rows: readonly ParsedRow[], problemOf: ProblemOf, { shape, options }: FileForm): string {
  const { format, delimiter } = shape;
  let text = '';
  for (const row of rows) {
    const problem = problemOf(row);
    if (problem === undefined) continue;
    const { row: number, line, crmId } = row;
    const { field, message } = problem;
    if (format === 'csv') {
      const surplus = options.include_input ? surplusOf(row, delimiter) : '';
      const cells = [crmId ?? '', field, message, surplus].map(spreadsheetCell);
      text += csvLine([String(number), String(line), ...cells], delimiter);
    } else
      text += `${JSON.stringify({ row: number, line, ...(crmId === null ? {} : { crm_id: crmId }), field, message })}\n`;
  }
  return text;
}

/** The text of a row of a CSV behind its last column, which results leave out. Empty cells alone are no text. */
function surplusOf({ text, input }: ParsedRow, delimiter: string): string {
  if (text.length <= input.length) return '';
  const surplus = text.slice(input.length + delimiter.length);
  return surplus.replaceAll(delimiter, '').trim() === '' ? '' : surplus;
}
