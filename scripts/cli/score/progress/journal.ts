import { stat } from 'node:fs/promises';
import { CliError, codeOf, fileProblem } from '../../context/cli-error.js';
import type { MistakeGroup } from '../../outcomes/mistakes.js';
import type { ReplyUsage, ReplyValidation } from '../calls/api-reply.js';
import type { InputSums } from '../output/input-sums.js';
import { type FileParts, fileLines } from './journal-lines.js';

/** Figures over all resumed parts of a run. */
export interface RunFigures {
  readonly records: number;
  readonly emptyRows: number;
  /** Rows without a score, for a reason in `mistakes`. */
  readonly refused: number;
  readonly mistakes: readonly MistakeGroup[];
  readonly enriched: number;
  readonly warned: number;
  /** Records with a crm_id. */
  readonly withCrmId: number;
  /** Counts of the scores 0-9, 10-19, …, 90-100. */
  readonly histogram: readonly number[];
  readonly elapsedMs: number;
  readonly usage?: ReplyUsage;
  readonly validation?: ReplyValidation;
  /** How the fields were read; absent with an older service. */
  readonly input?: InputSums;
}

export const noFigures: RunFigures = {
  records: 0,
  emptyRows: 0,
  refused: 0,
  mistakes: [],
  enriched: 0,
  warned: 0,
  withCrmId: 0,
  histogram: [],
  elapsedMs: 0,
};

/** Options that must be the same when the run is resumed. */
export interface RunOptions {
  readonly model: string;
  readonly explain: boolean;
  readonly crm_id: string | null;
  readonly only_scores: boolean;
}

/** First line of a journal. */
interface JournalHead {
  readonly format: 2;
  readonly options: RunOptions;
}

/** The header of the output is written. */
export interface Begun {
  /** Bytes of the header. */
  readonly bytes: number;
  /** Cells of a line before the added ones. */
  readonly columns: number;
  readonly delimiter: string;
}

/** Rows of the file, from the first or from the last of the batch before, are in the output. */
export interface KeptBatch {
  /** Rows of the input up to the end of the batch. */
  readonly rows: number;
  /** `FileDigest` of these rows. */
  readonly digest: string;
  /** Bytes of the output for these rows. Later bytes are an incomplete write and are cut off. */
  readonly bytes: number;
  /** `textDigest` of the row of each line of the output, joined, as base64. */
  readonly lines: string;
  /** Calls whose scores are in these lines. */
  readonly calls: readonly string[];
  /** Kept results that are in these lines: ranges of their numbers. See `Resumed`. */
  readonly took: readonly NumberRange[];
  readonly figures: RunFigures;
}

export type NumberRange = readonly [first: number, last: number];

/**
 * A run was resumed. Only its first rows stay in the output. Kept results are numbered from 0: those of the pool, then
 * the rows of the calls.
 */
interface Resumed {
  readonly rows: number;
  /** Number of the pool's file; null without one. */
  readonly pool: number | null;
  readonly poolSize: number;
  /** Calls that have got no reply yet. */
  readonly calls: readonly (readonly [id: string, rows: number])[];
  /** Calls whose scores are in the pool, should their files still exist. */
  readonly pooledCalls: readonly string[];
}

type JournalLine =
  | JournalHead
  | { readonly begun: Begun }
  | { readonly kept: KeptBatch }
  | { readonly resumed: Resumed };

/** A batch that is in the output, and the offset of its line in the journal. */
export type KeptEntry = Pick<KeptBatch, 'rows' | 'digest' | 'bytes'> & { readonly offset: number };

/** The content of a journal. */
export interface JournalContent {
  readonly head: JournalHead;
  readonly begun: Begun | undefined;
  readonly batches: readonly KeptEntry[];
  readonly resumed: Resumed | undefined;
  /** Kept results that are in the output, since it was resumed. */
  readonly took: readonly NumberRange[];
  /** Asked calls whose scores are, or were, in the output or the pool. */
  readonly doneCalls: ReadonlySet<string>;
  /** Bytes of the complete lines. */
  readonly bytes: number;
}

/**
 * Reads a journal.
 * @param calls ids of calls that have a file
 * @returns undefined without a journal, or when its first line is incomplete: then nothing was sent
 * @throws CliError when it cannot be read or is not a journal
 */
export async function readJournal(path: string, calls: readonly string[]): Promise<JournalContent | undefined> {
  const found = await stat(path).catch((error: unknown) => {
    // ENOTDIR: the path is invalid. Opening the output reports it.
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return undefined;
    throw unreadable(path, fileProblem(error));
  });
  if (found === undefined) return undefined;
  const asked = new Set(calls);
  const doneCalls = new Set<string>();
  let head: JournalHead | undefined;
  let begun: Begun | undefined;
  let resumed: Resumed | undefined;
  let took: NumberRange[] = [];
  let bytes = 0;
  const batches: KeptEntry[] = [];
  for await (const { text, offset, end } of fileLines(path)) {
    const line = parseLine(text, path);
    bytes = end;
    if ('format' in line) head = line;
    else if ('begun' in line) begun = line.begun;
    else if ('kept' in line) {
      const { rows, digest, bytes: written } = line.kept;
      batches.push({ rows, digest, bytes: written, offset });
      took.push(...line.kept.took);
      for (const id of line.kept.calls) if (asked.has(id)) doneCalls.add(id);
    } else {
      resumed = line.resumed;
      for (const id of resumed.pooledCalls) if (asked.has(id)) doneCalls.add(id);
      took = [];
      while ((batches.at(-1)?.rows ?? 0) > resumed.rows) batches.pop();
      if (batches.length === 0) begun = undefined;
    }
  }
  if (head === undefined) return undefined;
  return { head, begun, batches, resumed, took, doneCalls, bytes };
}

/** The line of a batch. */
export async function readKept(journal: FileParts, { offset }: KeptEntry): Promise<KeptBatch> {
  const line = parseLine(await journal.line(offset), journal.path);
  if ('kept' in line) return line.kept;
  throw unreadable(journal.path, `it has no batch at byte ${offset}`);
}

export const journalLine = (line: JournalLine): string => `${JSON.stringify(line)}\n`;

function parseLine(text: string, path: string): JournalLine {
  try {
    const line = JSON.parse(text);
    if (typeof line === 'object' && line !== null && (line.format === 2 || line.kept || line.begun || line.resumed))
      return line;
  } catch {
    // reported below
  }
  throw unreadable(path, 'it is not the journal of a run');
}

const unreadable = (path: string, why: string): CliError =>
  new CliError(`Cannot read ${path}: ${why}. Use --restart to start over`, { code: 'bad_state' });

/** Numbers in ascending or any order, as ranges. */
export function rangesOf(numbers: readonly number[]): NumberRange[] {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges;
}
