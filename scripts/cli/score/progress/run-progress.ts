import type { RowOutcome } from '../calls/api-reply.js';
import type { WrittenForm } from '../output/written-results.js';
import { CallFiles, type EarlierCall } from './call-files.js';
import type { Disk, GrowingFile } from './disk.js';
import { earlierResults } from './earlier-results.js';
import {
  type Begun,
  type JournalContent,
  journalLine,
  type KeptBatch,
  noFigures,
  type RunFigures,
  readKept,
} from './journal.js';
import { FileParts } from './journal-lines.js';
import { journalPath, poolPath, removeProgress } from './progress-files.js';
import { emptyPool, type OpenCall, ResultPool } from './result-pool.js';
import { digestBytes } from './row-digests.js';

/** Sends a call of an earlier run again; undefined when it was not counted. */
export type Replay = (call: EarlierCall, rows: number) => Promise<readonly RowOutcome[] | undefined>;

export interface ProgressFiles {
  readonly disk: Disk;
  readonly outputPath: string;
  readonly folder: string;
}

/** The output and the journal beside it. Without a journal the output is a stream, which cannot be resumed. */
export class RunProgress {
  /** Rows of the input that are in the output. */
  rows = 0;
  figures = noFigures;
  pool = new ResultPool('', emptyPool, []);
  readonly calls: CallFiles;
  private journal: GrowingFile | undefined;
  /** Whether earlier runs have left results, or calls that may have been counted. */
  private hasEarlier: boolean;
  private isResumed = false;
  /** Rows of earlier runs that the service has counted and that are not yet in the output. */
  private earlierScored = 0;

  /**
   * @param output undefined: `resume` opens it
   * @param files undefined for a stream
   * @param earlier the journal, with at least its first line; `isNew` if this run has written it
   */
  constructor(
    private output: GrowingFile | undefined,
    private readonly files: ProgressFiles | undefined,
    private readonly earlier: { readonly content: JournalContent; readonly isNew: boolean } | undefined,
  ) {
    this.hasEarlier = earlier?.isNew === false;
    this.calls = new CallFiles(files);
  }

  /** Batches of earlier runs that are in the output. */
  get batches(): JournalContent['batches'] {
    return this.earlier?.content.batches ?? [];
  }

  /** Rows that the service has counted and that are not yet in the output. */
  get waitingRows(): number {
    return this.calls.answeredRows + this.earlierScored;
  }

  /** Whether nothing has been counted, so that all files can be removed. */
  get isEmpty(): boolean {
    return this.rows === 0 && !this.hasEarlier && !this.calls.hasOpen && this.calls.answeredRows === 0;
  }

  /**
   * Continues after the first `keptBatches` of earlier runs. Everything else that they have reached goes into the pool.
   * Does nothing for a stream.
   */
  async resume(
    keptBatches: number,
    {
      form,
      replay,
      check,
    }: {
      readonly form: Pick<WrittenForm, 'format' | 'explain'>;
      readonly replay: Replay;
      /** Throws when the run must not go on. Nothing is changed before. */
      readonly check: (pool: ResultPool) => Promise<void>;
    },
  ): Promise<void> {
    const { files } = this;
    const earlier = this.earlier?.content;
    if (files === undefined || earlier === undefined) return;
    const { disk, folder, outputPath } = files;
    const results = await earlierResults(earlier, { keptBatches, disk, folder, outputPath, form });
    const { pool, poolNumber, openCalls } = results;
    const onScores = (rows: number): void => {
      this.earlierScored += rows;
    };
    const calls = openCalls.map((call) => openCall(call, replay, onScores));
    this.pool = new ResultPool(poolPath(folder, poolNumber ?? 0), pool, calls);
    await check(this.pool);
    this.earlierScored = pool.scored;
    this.hasEarlier = this.pool.size > 0;
    this.isResumed = true;
    const kept = earlier.batches[keptBatches - 1];
    this.rows = kept?.rows ?? 0;
    if (kept !== undefined) this.figures = await this.figuresUpTo(kept, folder);
    this.journal = await disk.openFile(journalPath(folder), earlier.bytes);
    const resumed = {
      rows: this.rows,
      pool: poolNumber ?? null,
      poolSize: pool.offsets.length,
      pooledCalls: results.pooledCalls,
      calls: openCalls.map(({ id }, index) => [id, calls[index]?.size ?? 0] as const),
    };
    await this.journal.write(journalLine({ resumed }));
    await this.journal.sync();
    for (const path of results.obsolete) await disk.remove(path);
    this.output = await disk.openFile(outputPath, kept?.bytes ?? 0);
  }

  /** Writes the header of the output. */
  async begin(header: string, begun: Omit<Begun, 'bytes'>): Promise<void> {
    const bytes = await this.write(header);
    await this.journal?.write(journalLine({ begun: { ...begun, bytes } }));
  }

  /**
   * Writes the lines of a batch, then its entry of the journal.
   * @param reused rows with a score that earlier runs had kept
   */
  async keep(text: string, batch: Omit<KeptBatch, 'bytes'>, reused: number): Promise<void> {
    const bytes = await this.write(text);
    // The journal must not name lines that a power cut can take back.
    await this.output?.sync();
    await this.journal?.write(journalLine({ kept: { ...batch, bytes } }));
    // Without its call and its line in the journal, a counted row would be sent again.
    await this.journal?.sync();
    this.rows = batch.rows;
    this.figures = batch.figures;
    this.earlierScored -= reused;
    await this.calls.remove(batch.calls);
  }

  /** Whether `rows` and `figures` include those of earlier runs. */
  get knowsEarlier(): boolean {
    return this.isResumed || this.files === undefined;
  }

  /** Removes the progress of a complete run. */
  async removeProgress(): Promise<void> {
    if (this.files !== undefined) await removeProgress(this.files.disk, this.files.folder);
  }

  /** Removes progress and output of a run without results. */
  async removeAll(): Promise<void> {
    // An output that could not be opened is not of this run.
    if (this.files !== undefined && this.output !== undefined) await this.files.disk.remove(this.files.outputPath);
    await this.removeProgress();
  }

  async close(): Promise<void> {
    await this.output?.close();
    await this.journal?.close();
  }

  private async write(text: string): Promise<number> {
    await this.output?.write(text);
    return this.output?.bytes ?? 0;
  }

  /** The usage of the month is that of the last reply. */
  private async figuresUpTo(kept: JournalContent['batches'][number], folder: string): Promise<RunFigures> {
    const journal = new FileParts(journalPath(folder));
    const { figures } = await readKept(journal, kept);
    const last = this.batches.at(-1);
    const { usage } = last === undefined ? figures : (await readKept(journal, last)).figures;
    return usage === undefined ? figures : { ...figures, usage };
  }
}

function openCall(call: EarlierCall, replay: Replay, onScores: (rows: number) => void): OpenCall {
  const rows = Buffer.from(call.rows, 'base64');
  const size = rows.length / digestBytes;
  let outcomes: ReturnType<Replay> | undefined;
  return {
    rows,
    size,
    outcomes: () => {
      outcomes ??= replay(call, size).then((found) => {
        onScores(found?.length ?? 0);
        return found;
      });
      return outcomes;
    },
  };
}
