import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import type { ConvertedValues, ValueOptions } from '../../../shared/admin/outcomes/converted-values.js';
import { RepeatedIds, repeatsText } from '../../../shared/files/repeated-ids.js';
import type { PredictionStore } from '../../../shared/store/calls/predictions.js';
import type { Outcome, OutcomeStore } from '../../../shared/store/validation/outcomes.js';
import type { FileListener } from '../context/file-run.js';
import type { InputFile } from '../score/input/input-file.js';
import { type MistakeGroup, withMistake } from './mistakes.js';
import { type OutcomeColumns, type OutcomeRow, outcomeRows } from './outcome-rows.js';

const batchRows = 1_000;
const lookUpTimeoutMs = 10_000; // of a batch
const maxWonValues = 1_000; // bounds the state file: a value may be written in many cases

export interface ImportRun {
  readonly input: InputFile;
  readonly store: OutcomeStore;
  readonly predictions: Pick<PredictionStore, 'scoredAmong' | 'scoredLeadNear'>;
  readonly organisationId: string;
  readonly columns: OutcomeColumns;
  readonly values: ConvertedValues;
  /** Whether a date replaces an earlier one of the same conversion. */
  readonly correctsDates?: boolean;
  /** Time of the import by the service's clock. */
  readonly now: Date;
  readonly signal: AbortSignal;
  readonly listener: Pick<FileListener, 'started' | 'progress'>;
}

export interface ImportReport extends ImportFigures {
  /** Rows read in all runs. */
  readonly rows: number;
  /** Sentences about the file: what was passed over, and repeated ids. */
  readonly notices: readonly string[];
  /** Imported rows with an id that an earlier row has. */
  readonly repeated: number;
  /** A scored lead, to compare with `unknownExample`. Absent if no lead was scored, or without `unknownExample`. */
  readonly scoredExample?: string | undefined;
  /** False after an interruption: the same command resumes. */
  readonly complete: boolean;
}

/**
 * Imports outcomes in file order. Invalid rows are skipped and reported.
 * @throws CliError when the file cannot be read; errors of MongoDB. Progress is kept, and the next run resumes
 */
export async function importOutcomes(run: ImportRun): Promise<ImportReport> {
  const { input, columns, values, correctsDates = false, now, listener } = run;
  const progressFile = new ImportProgressFile(input, {
    organisation: run.organisationId,
    columns: [columns.crmId ?? null, columns.converted ?? null, columns.at ?? null],
    values: values.identity,
    ...(correctsDates ? { correctsDates } : {}),
  });
  const before = await progressFile.read();
  listener.started(before.rows);
  let figures = before.figures;
  let rows = 0;
  let pending: Outcome[] = [];
  /** The ids of leads that no earlier row names: as stored, and as sent. */
  let newLeads = new Map<string, string>();
  const flush = async (endByte: number): Promise<void> => {
    const { store, organisationId } = run;
    const [scored] = await Promise.all([
      scoredOf(run, [...newLeads.keys()]),
      store.record({ organisationId, outcomes: pending, receivedAt: now }),
    ]);
    figures = withLeads(figures, newLeads, scored);
    pending = [];
    newLeads = new Map();
    await progressFile.write(rows, figures);
    listener.progress({ done: rows, fraction: Math.min(1, endByte / Math.max(1, input.inflatedBytes())) });
  };
  let endByte = 0;
  const notices: string[] = [];
  const ids = new RepeatedIds();
  const onNotice = (notice: string) => notices.push(notice);
  for await (const row of outcomeRows(input, { columns, values, correctsDates, now, onNotice })) {
    rows += 1;
    endByte = row.endByte;
    const isRepeated = 'outcome' in row && ids.add(row.sentId, row.line);
    if (rows <= before.rows) continue;
    figures = withRow(figures, row);
    if ('outcome' in row) pending.push(row.outcome);
    if ('outcome' in row && !isRepeated) newLeads.set(row.outcome.crmId, row.sentId);
    if (rows % batchRows !== 0) continue;
    await flush(endByte);
    if (run.signal.aborted) return { ...figures, rows, repeated: ids.repeats?.rows ?? 0, notices: [], complete: false };
  }
  await flush(endByte);
  const { unknownExample } = figures;
  const scoredExample = unknownExample === undefined ? undefined : await scoredNear(run, unknownExample);
  await progressFile.remove();
  const repeats = repeatsText(ids.repeats);
  const earliest = correctsDates === true ? '' : ', but of several conversions the earliest';
  if (repeats !== undefined) notices.push(`${repeats}. The last row of a lead counts${earliest}`);
  if (ids.edgesNotice !== undefined) notices.push(ids.edgesNotice);
  return { ...figures, rows, repeated: ids.repeats?.rows ?? 0, scoredExample, notices, complete: true };
}

const scoredOf = ({ predictions, organisationId }: ImportRun, crmIds: readonly string[]) =>
  predictions.scoredAmong({ organisationId, crmIds }, lookUpTimeoutMs);

const scoredNear = ({ predictions, organisationId }: ImportRun, crmId: string) =>
  predictions.scoredLeadNear({ organisationId, crmId }, lookUpTimeoutMs);

/** Adds leads that no earlier row names. */
function withLeads(
  figures: ImportFigures,
  leads: ReadonlyMap<string, string>,
  scored: ReadonlySet<string>,
): ImportFigures {
  const { known = 0, unknown = 0 } = figures;
  const unknownExample = figures.unknownExample ?? [...leads].find(([crmId]) => !scored.has(crmId))?.[1];
  return {
    ...figures,
    known: known + scored.size,
    unknown: unknown + leads.size - scored.size,
    ...(unknownExample === undefined ? {} : { unknownExample }),
  };
}

function withRow(figures: ImportFigures, row: OutcomeRow): ImportFigures {
  if ('outcome' in row) {
    const { value, outcome, lacksDate } = row;
    const { won = [], accepted, converted } = figures;
    if (!outcome.converted) return { ...figures, accepted: accepted + 1 };
    const { withoutDate = 0 } = figures;
    const wonValues = won.includes(value) || won.length === maxWonValues ? won : [...won, value];
    return {
      ...figures,
      accepted: accepted + 1,
      converted: converted + 1,
      won: wonValues,
      withoutDate: withoutDate + Number(lacksDate),
    };
  }
  const mistakes = withMistake(figures.mistakes, row.mistake, row.line);
  return { ...figures, refused: figures.refused + 1, mistakes };
}

/** Figures of the imported rows. */
interface ImportFigures {
  readonly accepted: number;
  readonly converted: number;
  /** Cells that meant a conversion, at most `maxWonValues`. Absent before the first one. */
  readonly won?: readonly string[];
  /** Converted leads with an empty cell in the date column. Absent before the first conversion. */
  readonly withoutDate?: number;
  /** Leads with a stored score, and others. Absent before the first batch. */
  readonly known?: number;
  readonly unknown?: number;
  /** One of the other leads. */
  readonly unknownExample?: string;
  readonly refused: number;
  /** Mistakes in the refused rows. */
  readonly mistakes: readonly MistakeGroup[];
}

/** Progress of an import, stored beside the file until it completes. */
interface ImportState {
  readonly format: 2;
  /** Identifies the import. With another identity the import starts from the first row. */
  readonly of: ImportIdentity;
  /** Imported rows, counted from the first row of the file. */
  readonly rows: number;
  readonly figures: ImportFigures;
}

interface ImportIdentity {
  readonly organisation: string;
  readonly bytes: number;
  readonly modified_at: string;
  readonly columns: readonly (string | null)[];
  readonly values: ValueOptions | undefined;
  readonly correctsDates?: boolean;
}

const nothingImported: ImportFigures = { accepted: 0, converted: 0, refused: 0, mistakes: [] };

/** Stores the progress of an import beside its file. An unwritable folder disables resuming and is not an error. */
class ImportProgressFile {
  private readonly path: string;
  private readonly identity: ImportIdentity;
  private isWritable = true;

  constructor(input: InputFile, of: Pick<ImportIdentity, 'organisation' | 'columns' | 'values' | 'correctsDates'>) {
    this.path = `${input.path}.import.json`;
    this.identity = { ...of, bytes: input.bytes, modified_at: input.modifiedAt.toISOString() };
  }

  /** Progress of an earlier run of the same import, or zero rows. */
  async read(): Promise<{ readonly rows: number; readonly figures: ImportFigures }> {
    try {
      const state = JSON.parse(await readFile(this.path, 'utf8')) as Partial<ImportState>;
      const isSame = state.format === 2 && JSON.stringify(state.of) === JSON.stringify(this.identity);
      if (isSame && state.rows !== undefined && state.figures !== undefined)
        return { rows: state.rows, figures: state.figures };
    } catch {
      // No usable file. Importing all rows again is idempotent.
    }
    return { rows: 0, figures: nothingImported };
  }

  async write(rows: number, figures: ImportFigures): Promise<void> {
    if (!this.isWritable) return;
    const state: ImportState = { format: 2, of: this.identity, rows, figures };
    try {
      await writeFile(`${this.path}.part`, `${JSON.stringify(state)}\n`);
      await rename(`${this.path}.part`, this.path);
    } catch {
      this.isWritable = false;
    }
  }

  async remove(): Promise<void> {
    if (this.isWritable) await rm(this.path, { force: true }).catch(() => undefined);
  }
}
