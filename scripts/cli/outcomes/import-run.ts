import type { Outcome, OutcomeStore } from '../../../shared/store/outcomes.js';
import type { FileListener } from '../file-run.js';
import type { InputFile } from '../score/input-file.js';
import { type ImportFigures, ImportProgressFile } from './import-state.js';
import { withMistake } from './mistakes.js';
import { type OutcomeColumns, type OutcomeRow, outcomeRows } from './outcome-rows.js';

const rowsAtOnce = 1_000;

export interface ImportRun {
  readonly input: InputFile;
  readonly store: OutcomeStore;
  readonly organisationId: string;
  readonly columns: OutcomeColumns;
  /** The time of the import, by the service's clock. */
  readonly now: Date;
  readonly signal: AbortSignal;
  readonly listener: Pick<FileListener, 'started' | 'progress'>;
}

export interface ImportReport extends ImportFigures {
  /** Rows of the file that were read, in all runs. */
  readonly rows: number;
  /** False when it was interrupted: the same command goes on. */
  readonly complete: boolean;
}

/**
 * Imports outcomes row by row, in the order of the file. A row that is wrong is left out and told; the others count.
 * @throws CliError when the file cannot be read; what MongoDB says. What was done is kept, and the next run goes on
 */
export async function importOutcomes(run: ImportRun): Promise<ImportReport> {
  const { input, columns, now, listener } = run;
  const progressFile = new ImportProgressFile(input, {
    organisation: run.organisationId,
    columns: [columns.crmId ?? null, columns.converted ?? null, columns.at ?? null],
  });
  const before = await progressFile.read();
  listener.started(before.rows);
  let figures = before.figures;
  let rows = 0;
  let pending: Outcome[] = [];
  const flush = async (endByte: number): Promise<void> => {
    await run.store.record({ organisationId: run.organisationId, outcomes: pending, receivedAt: now });
    pending = [];
    await progressFile.write(rows, figures);
    listener.progress({ done: rows, fraction: Math.min(1, endByte / Math.max(1, input.inflatedBytes())) });
  };
  let endByte = 0;
  for await (const row of outcomeRows(input, { columns, now })) {
    rows += 1;
    endByte = row.endByte;
    if (rows <= before.rows) continue;
    figures = withRow(figures, row);
    if ('outcome' in row) pending.push(row.outcome);
    if (rows % rowsAtOnce !== 0) continue;
    await flush(endByte);
    if (run.signal.aborted) return { ...figures, rows, complete: false };
  }
  await flush(endByte);
  await progressFile.remove();
  return { ...figures, rows, complete: true };
}

function withRow(figures: ImportFigures, row: OutcomeRow): ImportFigures {
  if ('outcome' in row)
    return {
      ...figures,
      accepted: figures.accepted + 1,
      converted: figures.converted + (row.outcome.converted ? 1 : 0),
    };
  const mistakes = withMistake(figures.mistakes, row.mistake, row.line);
  return { ...figures, refused: figures.refused + 1, mistakes };
}
