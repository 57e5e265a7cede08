import type { FileForm } from '../../../shared/files/file-form.js';
import type { JobSlice, SliceOutcome } from '../../../shared/store/jobs/job-documents.js';
import { deflateQuickly } from '../../../shared/store/jobs/job-slices.js';
import type { ScoredRows } from '../../call/score-outcome.js';
import { driverMembers, topReasons } from '../../call/score-reply.js';
import type { CallRecord } from '../../call/scoring-call.js';
import { problemText } from '../../dispatch/refusal.js';
import { type ParsedRow, parseRows, type RowForm, type RowProblem } from './parse-rows.js';
import { errorText, type RowResult, resultText } from './result-text.js';

/** The rows of a slice, and those of them that can be scored. */
export interface SliceRows {
  readonly parsed: readonly ParsedRow[];
  readonly records: readonly CallRecord[];
  /** The number in the file of the row of a record. */
  readonly rowOfRecord: (index: number) => number;
}

/** The texts of a finished slice as gzip members, and its counts. */
export interface SliceOutput {
  readonly outcome: Omit<SliceOutcome, 'call_id' | 'done_at'>;
  readonly results: Buffer;
  /** Undefined without a failed row. */
  readonly errors: Buffer | undefined;
}

/** Reads the rows of a slice. @param input its rows, inflated */
export async function fileRows(form: RowForm, slice: JobSlice, input: Buffer): Promise<SliceRows> {
  const first = { row: slice.first_row, line: slice.first_line };
  return sliceRows(await parseRows(input, form, first), slice);
}

export function sliceRows(parsed: readonly ParsedRow[], slice: Pick<JobSlice, 'first_row'>): SliceRows {
  const scorable = parsed.filter(({ record }) => record !== undefined);
  const records = scorable.flatMap(({ record }) => record ?? []);
  return { parsed, records, rowOfRecord: (index) => scorable[index]?.row ?? slice.first_row };
}

/**
 * Writes the results and the errors of a slice.
 * @param scored of its records; undefined when no row could be scored
 */
export async function sliceOutput(
  form: FileForm,
  { parsed, records }: SliceRows,
  scored: ScoredRows | undefined,
): Promise<SliceOutput> {
  const problems = new Map<number, RowProblem>();
  for (const problem of scored?.refused ?? [])
    problems.set(problem.record, { field: problem.field, message: problemText(problem) });
  const results = scored === undefined ? undefined : resultsOf(scored);
  const resultOfRow = new Map<ParsedRow, RowResult>();
  const problemOfRow = new Map<ParsedRow, RowProblem>();
  let record = 0;
  for (const row of parsed) {
    if (row.problem !== undefined) problemOfRow.set(row, row.problem);
    if (row.record === undefined) continue;
    const problem = problems.get(record);
    record += 1;
    if (problem !== undefined) problemOfRow.set(row, problem);
    else {
      const result = results?.next().value;
      if (result) resultOfRow.set(row, result);
    }
  }
  const resultsAsText = resultText(
    parsed,
    (row) => resultOfRow.get(row),
    (row) => problemOfRow.get(row),
    form,
  );
  const failed = problemOfRow.size;
  const errorsAsText = failed === 0 ? '' : errorText(parsed, (row) => problemOfRow.get(row), form);
  const bytes = Buffer.from(resultsAsText);
  const [written, errors] = await Promise.all([
    deflateQuickly(bytes),
    failed === 0 ? undefined : deflateQuickly(errorsAsText),
  ]);
  const outcome = {
    scored: records.length - problems.size,
    failed,
    empty: parsed.length - resultOfRow.size - failed,
    result_bytes: bytes.length,
    result_gzip_bytes: written.length,
    error_bytes: Buffer.byteLength(errorsAsText),
    error_gzip_bytes: errors?.length ?? 0,
  };
  return { outcome, results: written, errors };
}

/** The results of the accepted records, in order. */
function* resultsOf({ parts }: ScoredRows): Generator<RowResult, undefined> {
  for (const part of parts) {
    const warnings = new Map(part.warnings);
    const { explained } = part;
    const membersOf = driverMembers(explained);
    for (const [index, score] of part.scores.entries()) {
      const warning = warnings.get(index);
      yield {
        score,
        conversion_likelihood: (part.likelihoods[index] ?? 0) / 10_000,
        enriched: part.matched[index] === 1,
        previous_score: part.previous[index] ?? null,
        warnings: warning === undefined ? [] : [warning],
        ...(explained && { reasons: topReasons(explained, index), explained: membersOf(index) }),
      };
    }
  }
}
