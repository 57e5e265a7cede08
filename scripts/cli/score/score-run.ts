import { rm } from 'node:fs/promises';
import { ScoreHistogram } from '../../terminal/histogram.js';
import { readableCount } from '../../terminal/readable-numbers.js';
import { CliError } from '../cli-error.js';
import { outputUnwritable } from '../file-problem.js';
import type { FileListener } from '../file-run.js';
import type { ReplyUsage, ReplyValidation, ScoreRow } from './api-reply.js';
import { beginReading } from './begin-reading.js';
import { csvRecords } from './csv-records.js';
import type { FieldReport } from './field-match.js';
import type { InputFile, RecordFormat } from './input-file.js';
import type { InputNames } from './input-names.js';
import { jsonlRecords } from './jsonl-records.js';
import type { OpenRun, OutputChoice } from './open-run.js';
import { type Batch, recordBatches } from './record-batches.js';
import { RecordDigest, recordsAfter } from './record-digest.js';
import { type RunFigures, type RunState, removeState, writeState } from './run-state.js';
import type { BatchScorer, ScoredBatch } from './score-batch.js';
import { scoredText } from './scored-lines.js';
import { sendInOrder } from './send-in-order.js';

export interface ScoreFileOptions {
  /** CSV or JSONL, gzipped or not. */
  readonly path: string;
  readonly output: OutputChoice;
  readonly modelId: string;
  readonly apiKey: string;
  /** Where the service is, without `/v1`. */
  readonly baseUrl: string;
  /** Column or field that becomes the crm_id; undefined: `crm_id` when there is one. */
  readonly crmIdField: string | undefined;
  readonly explain: boolean;
  /** Calls under way at once. */
  readonly concurrency: number;
  /** Stops the run when the calls under way are done; what is done is kept. */
  readonly signal: AbortSignal;
  readonly listener: FileListener;
}

/** What a run has done when it ends. */
export interface RunReport {
  readonly input: string;
  /** `-` for standard output. */
  readonly output: string;
  /** False when it was told to stop before the end of the file. */
  readonly complete: boolean;
  /** Rows of the input that are done. */
  readonly rows: number;
  /** Rows of these that earlier runs had done. */
  readonly resumedAfterRow: number;
  readonly format: RecordFormat;
  readonly figures: RunFigures;
  /** What the file has of the fields that the model knows; undefined when it is not known. */
  readonly fields: FieldReport | undefined;
}

export interface RunParts {
  readonly options: ScoreFileOptions;
  readonly input: InputFile;
  readonly opened: OpenRun;
  readonly scorer: BatchScorer;
  readonly names: InputNames;
}

/** One pass over a file: what is sent, what is kept, and how far it has come. */
export class ScoreRun {
  private readonly startMs = performance.now();
  private readonly digest = new RecordDigest();
  private readonly histogram: ScoreHistogram;
  private state: RunState;

  constructor(private readonly parts: RunParts) {
    this.state = parts.opened.state;
    this.histogram = new ScoreHistogram(this.state.figures.histogram);
  }

  /** Sends and writes everything; false when told to stop before. */
  async toTheEnd(): Promise<boolean> {
    const { options, input, scorer, names } = this.parts;
    const reading = {
      crmIdField: options.crmIdField,
      onNames: (seen: readonly string[]) => names.see(seen),
    };
    const records = await beginReading(
      input.format === 'csv' ? csvRecords(input, reading) : jsonlRecords(input, reading),
    );
    for (const notice of names.notices()) options.listener.notice?.(notice);
    const remaining = recordsAfter(records, this.parts.opened.state, this.digest);
    options.listener.started(this.state.rows);
    let isFirst = true;
    return sendInOrder(recordBatches(remaining), {
      concurrency: () => (isFirst ? 1 : options.concurrency),
      signal: options.signal,
      send: (batch) => scorer.score(batch),
      keep: async (scored) => {
        isFirst = false;
        await this.keep(scored);
      },
    });
  }

  /** Ends a run that was not broken off: a complete one leaves nothing to go on with. */
  async finish(complete: boolean): Promise<RunReport> {
    const { options, opened, input, names } = this.parts;
    if (complete && opened.statePath !== undefined) await removeState(opened.statePath);
    if (!complete && this.state.rows === 0) await this.leaveNothing();
    const { rows, figures } = this.state;
    return {
      input: input.path,
      output: options.output.path,
      complete,
      rows,
      resumedAfterRow: opened.state.rows,
      format: input.format,
      figures,
      fields: names.report(complete),
    };
  }

  /** Leaves things so that the run can go on; the error says how. A run that has done nothing leaves nothing. */
  async giveUp(error: unknown): Promise<unknown> {
    const { options, opened } = this.parts;
    if (opened.statePath === undefined || !(error instanceof CliError)) return error;
    const { rows } = this.state;
    if (rows === 0) {
      // What could not be written has been scored: the state has the name under which it is not counted again.
      if (error.code !== outputUnwritable) await this.leaveNothing();
      return error;
    }
    const kept = `Rows 1-${readableCount(rows)} are in ${options.output.path}; the same command again goes on after them.`;
    const { code, exitCode, details, message } = error;
    return new CliError(`${message}\n${kept}`, {
      code,
      exitCode,
      details: { ...details, rows_done: rows },
      cause: error,
    });
  }

  /** The first call goes alone: before it is done nothing was scored, and nothing has to be remembered. */
  private async leaveNothing(): Promise<void> {
    const { options, opened } = this.parts;
    if (opened.statePath === undefined) return;
    await removeState(opened.statePath);
    await rm(options.output.path, { force: true });
  }

  private async keep(scored: ScoredBatch): Promise<void> {
    const { options, input, opened } = this.parts;
    const { batch } = scored;
    await opened.output.write(scoredText(scored, { format: opened.format, explain: options.explain }));
    this.digestBatch(batch);
    const rows = batch.lastRow;
    const figures = this.figuresWith(scored);
    this.state = {
      ...this.state,
      rows,
      digest: this.digest.value(),
      outputBytes: opened.output.bytes,
      figures,
    };
    if (opened.statePath !== undefined) await writeState(opened.statePath, this.state);
    options.listener.progress({
      done: figures.records,
      fraction: Math.min(1, batch.endByte / input.inflatedBytes()),
    });
  }

  private digestBatch(batch: Batch): void {
    const texts = new Map(batch.records.map((record) => [record.row, record.text]));
    for (let row = this.state.rows + 1; row <= batch.lastRow; row += 1) this.digest.add(texts.get(row));
  }

  private figuresWith({ batch, rows, usage, validation }: ScoredBatch): RunFigures {
    const before = this.state.figures;
    for (const { score } of rows) this.histogram.add(score);
    return {
      records: before.records + rows.length,
      emptyRows: before.emptyRows + batch.emptyRows,
      enriched: before.enriched + rows.filter((row) => row.enriched).length,
      ...countedCrmIds(before, rows),
      warned: before.warned + rows.filter((row) => (row.warnings ?? []).length > 0).length,
      histogram: this.histogram.toCounts(),
      elapsedMs: this.parts.opened.state.figures.elapsedMs + (performance.now() - this.startMs),
      ...present({ usage: laterUsage(before.usage, usage), validation: validation ?? before.validation }),
    };
  }
}

/** A run that an older version began has not counted them: then nothing is known. */
const countedCrmIds = (
  { withCrmId }: RunFigures,
  rows: readonly ScoreRow[],
): Pick<RunFigures, 'withCrmId'> =>
  withCrmId === undefined
    ? {}
    : { withCrmId: withCrmId + rows.filter((row) => row.crm_id !== undefined).length };

/** Calls do not end in the order of the file: the highest usage is the latest, unless a month ended in between. */
function laterUsage(before: ReplyUsage | undefined, usage: ReplyUsage | undefined): ReplyUsage | undefined {
  if (before === undefined || usage === undefined) return usage ?? before;
  const monthEnded = usage.current < before.current / 2;
  return usage.current >= before.current || monthEnded ? usage : before;
}

function present({
  usage,
  validation,
}: {
  readonly usage: ReplyUsage | undefined;
  readonly validation: ReplyValidation | undefined;
}): Pick<RunFigures, 'usage' | 'validation'> {
  return { ...(usage === undefined ? {} : { usage }), ...(validation === undefined ? {} : { validation }) };
}
