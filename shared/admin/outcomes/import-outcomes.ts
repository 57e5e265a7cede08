import { countText } from '../../contract/figures.js';
import { RepeatedIds, repeatsText } from '../../files/repeated-ids.js';
import type { ConvertedValues } from './converted-values.js';
import { type MistakeGroup, withMistake } from './mistakes.js';
import { type OutcomeReading, type OutcomeRow, outcomeRows, type ReadOutcome } from './outcome-rows.js';

/** Bounds the memory for the values of a file: one may be written in many cases. */
const maxWonValues = 1_000;

/** How many of some leads have a stored score, and one that has none. */
export interface ScoredCounts {
  readonly known: number;
  readonly unknown: number;
  readonly unknownExample?: string | undefined;
}

/** Where the outcomes of a file go. */
export interface OutcomeSink {
  /** Rows that it takes at once. */
  readonly batchRows: number;
  /**
   * Stores the rows of a batch in their order.
   * @param newLeads the ids, as they were sent, of its leads that no earlier batch names, by their stored ids
   * @returns counts of the new leads
   */
  record(rows: readonly ReadOutcome[], newLeads: ReadonlyMap<string, string>): Promise<ScoredCounts>;
  /** A scored lead to compare with one that has no score; undefined if no lead was scored. */
  scoredNear(unknownExample: string): Promise<string | undefined>;
}

export interface OutcomeImport extends Omit<OutcomeReading, 'onNotice'> {
  /** The file as UTF-8 without byte order mark. */
  readonly pieces: AsyncIterable<Buffer>;
  readonly sink: OutcomeSink;
  readonly signal?: AbortSignal;
  /** Called after each batch. @param endByte bytes of the text that were read */
  readonly onProgress?: (rows: number, endByte: number) => void;
}

export interface ImportReport extends Figures {
  /** Rows with content. */
  readonly rows: number;
  /** Sentences about the file. */
  readonly notes: readonly string[];
  /** Accepted rows with an id that an earlier row has. */
  readonly repeated: number;
  /** A scored lead, to compare with `unknownExample`. Absent if no lead was scored, or without `unknownExample`. */
  readonly scoredExample?: string | undefined;
  /** False after an interruption. Another import of the file stores the other rows, and changes nothing of these. */
  readonly complete: boolean;
}

/** Figures of the rows that were read. */
interface Figures {
  readonly accepted: number;
  readonly converted: number;
  readonly refused: number;
  /** Rows that were passed over for their value. */
  readonly ignored: number;
  /** Mistakes in the refused rows. */
  readonly mistakes: readonly MistakeGroup[];
  /** Leads with a stored score, and others. */
  readonly known: number;
  readonly unknown: number;
  readonly unknownExample?: string | undefined;
}

/**
 * Reads the outcomes of a CSV and gives them to a sink, in the order of the file. A row is stored whole or reported.
 * Importing a file again changes nothing.
 * @throws InputFault when the file cannot be read; errors of the pieces and of the sink
 */
export async function importOutcomes(run: OutcomeImport): Promise<ImportReport> {
  const { pieces, sink, values, correctsDates, signal, onProgress } = run;
  const notices: string[] = [];
  const ids = new RepeatedIds();
  const [won, leads]: [Set<string>, Map<string, string>] = [new Set(), new Map()];
  let figures: Figures = {
    ...{ accepted: 0, converted: 0, refused: 0, ignored: 0 },
    mistakes: [],
    known: 0,
    unknown: 0,
  };
  let [rows, withoutDate, endByte] = [0, 0, 0];
  let batch: ReadOutcome[] = [];
  const flush = async (): Promise<void> => {
    if (batch.length > 0) figures = plus(figures, await sink.record(batch, leads));
    batch = [];
    leads.clear();
    onProgress?.(rows, endByte);
  };
  for await (const row of outcomeRows(pieces, { ...run, onNotice: (notice) => notices.push(notice) })) {
    rows += 1;
    endByte = row.endByte;
    figures = withRow(figures, row);
    if ('outcome' in row) {
      if (!ids.add(row.sentId, row.line)) leads.set(row.outcome.crmId, row.sentId);
      if (row.outcome.converted && won.size < maxWonValues) won.add(row.value);
      withoutDate += Number(row.lacksDate);
      batch.push(row);
    }
    if (batch.length < sink.batchRows) continue;
    await flush();
    if (signal?.aborted === true)
      return { ...figures, rows, repeated: ids.repeats?.rows ?? 0, notes: [], complete: false };
  }
  await flush();
  const { unknownExample } = figures;
  const scoredExample = unknownExample === undefined ? undefined : await sink.scoredNear(unknownExample);
  const notes = [
    // A part need not have each value of its file.
    ...(run.part === undefined ? unseenNotes(values, [...won]) : []),
    ...withoutDateNote(withoutDate),
    ...notices,
    ...repeatNotes(ids, correctsDates),
  ];
  return { ...figures, rows, repeated: ids.repeats?.rows ?? 0, scoredExample, notes, complete: true };
}

const plus = (figures: Figures, { known, unknown, unknownExample }: ScoredCounts): Figures => ({
  ...figures,
  known: figures.known + known,
  unknown: figures.unknown + unknown,
  unknownExample: figures.unknownExample ?? unknownExample,
});

function withRow(figures: Figures, row: OutcomeRow): Figures {
  if ('outcome' in row) {
    const { accepted, converted } = figures;
    return { ...figures, accepted: accepted + 1, converted: converted + Number(row.outcome.converted) };
  }
  if ('isIgnored' in row) return { ...figures, ignored: figures.ignored + 1 };
  const mistakes = withMistake(figures.mistakes, row.mistake, row.line);
  return { ...figures, refused: figures.refused + 1, mistakes };
}

const unseenNotes = (values: ConvertedValues, won: readonly string[]): string[] =>
  values.unseen(won).map((value) => `No imported row has the value ${JSON.stringify(value)} of ${values.wonName}`);

function withoutDateNote(leads: number): string[] {
  if (leads === 0) return [];
  const rows = leads === 1 ? '1 converted lead has' : `${countText(leads)} converted leads have`;
  return [`${rows} no date. A conversion without a date counts from its first import`];
}

function repeatNotes(ids: RepeatedIds, correctsDates: boolean): string[] {
  const repeats = repeatsText(ids.repeats);
  const earliest = correctsDates ? '' : ', but of several conversions the earliest';
  return [
    ...(repeats === undefined ? [] : [`${repeats}. The last row of a lead counts${earliest}`]),
    ...(ids.edgesNotice === undefined ? [] : [ids.edgesNotice]),
  ];
}
