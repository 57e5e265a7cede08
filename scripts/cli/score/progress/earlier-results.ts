import { CliError } from '../../context/cli-error.js';
import { countText } from '../../output/readable-numbers.js';
import { type WrittenForm, writtenResults } from '../output/written-results.js';
import { type EarlierCall, readCall } from './call-files.js';
import type { Disk } from './disk.js';
import { type JournalContent, type NumberRange, readKept } from './journal.js';
import { FileParts, fileLines } from './journal-lines.js';
import { callIdsIn, callPath, journalPath, poolPath } from './progress-files.js';
import { emptyPool, type PoolContent, type PoolLine, PoolWriter } from './result-pool.js';
import { digestBytes, noDigest } from './row-digests.js';

/** All that earlier runs have reached and that does not stay in the output. */
export interface EarlierResults {
  readonly pool: PoolContent;
  /** Number of the pool's file; undefined when there are no such results. */
  readonly poolNumber: number | undefined;
  /** Calls without a reply, which may have been counted. */
  readonly openCalls: readonly EarlierCall[];
  /** Ids of the calls whose scores are in the pool. */
  readonly pooledCalls: readonly string[];
  /** Files that are no longer needed once the journal names the new ones. */
  readonly obsolete: readonly string[];
}

/**
 * Collects the results of earlier runs in a new pool:
 * - the lines of the output after its first `keptBatches`
 * - the results of the pool before that are not in the output
 * - the scores of calls that are not in the output
 * @throws CliError when the output is not as this command has written it
 */
export async function earlierResults(
  content: JournalContent,
  {
    keptBatches,
    disk,
    folder,
    outputPath,
    form,
  }: {
    readonly keptBatches: number;
    readonly disk: Disk;
    readonly folder: string;
    readonly outputPath: string;
    readonly form: Pick<WrittenForm, 'format' | 'explain'>;
  },
): Promise<EarlierResults> {
  const number = (content.resumed?.pool ?? 0) + 1;
  const path = poolPath(folder, number);
  let writer: PoolWriter | undefined;
  const add = async (digest: Buffer, outcome: PoolLine['outcome']): Promise<void> => {
    writer ??= new PoolWriter(await disk.openFile(path, 0));
    await writer.add(digest, outcome);
  };
  for await (const { digest, outcome } of linesAfter(content, { keptBatches, folder, outputPath, form }))
    await add(digest, outcome);
  const taken = new TakenNumbers(content.took);
  const obsolete: string[] = [];
  const before = content.resumed?.pool ?? null;
  if (before !== null) {
    const old = poolPath(folder, before);
    obsolete.push(old);
    let result = 0;
    for await (const { text } of fileLines(old)) {
      const { of, outcome }: PoolLine = JSON.parse(text);
      if (!taken.has(result)) await add(Buffer.from(of, 'base64'), outcome);
      result += 1;
    }
  }
  const openCalls: EarlierCall[] = [];
  const pooledCalls: string[] = [];
  const firstNumbers = firstNumbersOf(content);
  for (const id of await callIdsIn(folder)) {
    const call = content.doneCalls.has(id) ? undefined : await readCall(folder, id);
    if (call !== undefined && call.scores === undefined) {
      openCalls.push(call);
      continue;
    }
    obsolete.push(callPath(folder, id));
    if (call?.scores === undefined) continue;
    pooledCalls.push(id);
    const digests = Buffer.from(call.rows, 'base64');
    const first = firstNumbers.get(id);
    for (const [index, scored] of call.scores.entries()) {
      const digest = digests.subarray(index * digestBytes, (index + 1) * digestBytes);
      if (first === undefined || !taken.has(first + index)) await add(digest, { scored });
    }
  }
  const pool = (await writer?.end()) ?? emptyPool;
  return { pool, poolNumber: writer === undefined ? undefined : number, openCalls, pooledCalls, obsolete };
}

/** The lines of the output after its first batches, with the digests of their rows. */
async function* linesAfter(
  { batches, begun }: JournalContent,
  {
    keptBatches,
    folder,
    outputPath,
    form,
  }: {
    readonly keptBatches: number;
    readonly folder: string;
    readonly outputPath: string;
    readonly form: Pick<WrittenForm, 'format' | 'explain'>;
  },
): AsyncGenerator<{ readonly digest: Buffer; readonly outcome: PoolLine['outcome'] }> {
  if (begun === undefined) return;
  const output = new FileParts(outputPath);
  const journal = new FileParts(journalPath(folder));
  for (let index = keptBatches; index < batches.length; index += 1) {
    const entry = batches[index];
    if (entry === undefined) return;
    const kept = await readKept(journal, entry);
    const from = batches[index - 1]?.bytes ?? begun.bytes;
    const text = (await output.bytes(from, kept.bytes)).toString('utf8');
    const outcomes = writtenResults(text, { ...form, ...begun });
    const digests = Buffer.from(kept.lines, 'base64');
    if (outcomes === undefined || outcomes.length * digestBytes !== digests.length)
      throw outputChanged(outputPath, batches.at(-1)?.rows ?? 0);
    for (const [line, outcome] of outcomes.entries()) {
      const digest = digests.subarray(line * digestBytes, (line + 1) * digestBytes);
      if (!digest.equals(noDigest)) yield { digest, outcome };
    }
  }
}

export const outputChanged = (outputPath: string, rows: number): CliError =>
  new CliError(
    `${outputPath} is missing some of the ${countText(rows)} rows already scored, or was changed. Use --restart to start over`,
    { code: 'output_changed' },
  );

/** The number of the first row of each call: see `Resumed`. */
function firstNumbersOf({ resumed }: JournalContent): Map<string, number> {
  const numbers = new Map<string, number>();
  let next = resumed?.poolSize ?? 0;
  for (const [id, rows] of resumed?.calls ?? []) {
    numbers.set(id, next);
    next += rows;
  }
  return numbers;
}

/** A set of numbers, one bit each. */
class TakenNumbers {
  private readonly bits: Uint8Array;

  constructor(ranges: readonly NumberRange[]) {
    const end = ranges.reduce((max, [, last]) => Math.max(max, last + 1), 0);
    this.bits = new Uint8Array(Math.ceil(end / 8));
    for (const [first, last] of ranges) for (let number = first; number <= last; number += 1) this.add(number);
  }

  has(number: number): boolean {
    return ((this.bits[number >> 3] ?? 0) & (1 << (number & 7))) !== 0;
  }

  private add(number: number): void {
    this.bits[number >> 3] = (this.bits[number >> 3] ?? 0) | (1 << (number & 7));
  }
}
