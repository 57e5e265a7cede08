import { rm } from 'node:fs/promises';
import type { FieldReport } from '../../../shared/files/field-match.js';
import { CliError, outputUnwritable } from '../context/cli-error.js';
import type { FileListener } from '../context/file-run.js';
import { ScoreHistogram } from '../output/charts.js';
import { countText } from '../output/readable-numbers.js';
import type { ReplyUsage, ReplyValidation, ScoreRow } from './calls/api-reply.js';
import { httpConnections } from './calls/http-connections.js';
import { BatchScorer, type ScoredBatch } from './calls/score-batch.js';
import { ScoreClient } from './calls/score-client.js';
import { sendInOrder } from './calls/send-in-order.js';
import { csvRecords } from './input/csv-records.js';
import { InputNames, readModelFields } from './input/field-names.js';
import { type CsvHeader, type InputFile, openInput, type RecordFormat } from './input/input-file.js';
import { jsonlRecords } from './input/jsonl-records.js';
import { type Batch, RecordDigest, recordBatches, recordsAfter, withFirstRead } from './input/record-batches.js';
import { type OpenRun, type OutputChoice, openRun } from './output/open-run.js';
import { type RunFigures, type RunState, removeState, writeState } from './output/run-state.js';
import { headerText, type KeptColumns, keptColumns, scoredText } from './output/scored-output.js';

/**
 * Scores a file through the API into a CSV or JSONL file, in input order.
 * 1. Opens input and output. If an earlier run was interrupted, skips the rows it has scored.
 * 2. Reads the model's fields and reports the ones that the file lacks.
 * 3. Groups records into calls and sends several concurrently. The first call goes alone, so that a wrong key or model
 *    is found early.
 * 4. Writes the results, and the progress after each batch.
 * @throws CliError on an error that retries do not solve; the progress is kept
 */
export async function scoreFile(options: ScoreFileOptions): Promise<RunReport> {
  const input = await openInput(options.path);
  const { crmIdField: crm_id = null, explain, onlyScores: only_scores } = options;
  const runOptions = { model: options.modelId, explain, crm_id, only_scores };
  const opened = await openRun(input, runOptions, options.output);
  const connections = httpConnections({ connections: options.concurrency });
  const { baseUrl, apiKey, modelId, signal } = options;
  const fields = await readModelFields({ baseUrl, apiKey, modelId, signal, get: connections.get });
  const client = new ScoreClient({
    baseUrl,
    apiKey,
    post: connections.post,
    signal,
    onWait: options.listener.waiting,
  });
  const template = { run: opened.state.run, modelId, explain: options.explain };
  const scorer = new BatchScorer(client, template);
  const names = new InputNames(input.format, fields);
  const run = new ScoreRun({ options, input, opened, scorer, names });
  try {
    return await run.finish(await run.sendAll());
  } catch (error) {
    throw await run.fail(error);
  } finally {
    connections.close();
    await opened.output.close();
  }
}

export interface ScoreFileOptions {
  /** CSV or JSONL, gzipped or not. */
  readonly path: string;
  readonly output: OutputChoice;
  readonly modelId: string;
  readonly apiKey: string;
  /** Address of the service, without `/v1`. */
  readonly baseUrl: string;
  /** Column or field that becomes the crm_id; undefined means `crm_id`, if it exists. */
  readonly crmIdField: string | undefined;
  readonly explain: boolean;
  /** Leaves the columns of a CSV out of a CSV of results. */
  readonly onlyScores: boolean;
  /** Maximum calls in flight. */
  readonly concurrency: number;
  /** Stops the run after the calls in flight; the progress is kept. */
  readonly signal: AbortSignal;
  readonly listener: FileListener;
}

/** Result of a completed or stopped run. */
export interface RunReport {
  readonly input: string;
  /** `-` for standard output. */
  readonly output: string;
  /** False when stopped before the end of the file. */
  readonly complete: boolean;
  /** Rows of the input that are scored and written. */
  readonly rows: number;
  /** Rows that earlier runs had scored. */
  readonly resumedAfterRow: number;
  readonly format: RecordFormat;
  readonly figures: RunFigures;
  /** Undefined when the model's fields are unknown. */
  readonly fields: FieldReport | undefined;
}

export interface RunParts {
  readonly options: ScoreFileOptions;
  readonly input: InputFile;
  readonly opened: OpenRun;
  readonly scorer: BatchScorer;
  readonly names: InputNames;
}

/** One run over a file and its progress. */
export class ScoreRun {
  private readonly startMs = performance.now();
  private readonly digest: RecordDigest;
  private readonly histogram: ScoreHistogram;
  private state: RunState;
  private kept: KeptColumns | undefined;

  constructor(private readonly parts: RunParts) {
    this.state = parts.opened.state;
    this.digest = new RecordDigest(this.keepsColumns);
    this.histogram = new ScoreHistogram(this.state.figures.histogram);
  }

  /**
   * Sends all batches and writes their results.
   * @returns false when stopped before the end
   */
  async sendAll(): Promise<boolean> {
    const { options, input, scorer, names } = this.parts;
    const reading = {
      crmIdField: options.crmIdField,
      onNames: (seen: readonly string[]) => names.add(seen),
      onHeader: (header: CsvHeader) => this.keepHeader(header),
    };
    const records = await withFirstRead(
      input.format === 'csv' ? csvRecords(input, reading) : jsonlRecords(input, reading),
    );
    for (const notice of [...names.notices(), ...this.renamed()]) options.listener.notice?.(notice);
    if (this.state.rows === 0) await this.begin();
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

  /** Ends a completed or stopped run. Removes the state file of a completed one. */
  async finish(complete: boolean): Promise<RunReport> {
    const { options, opened, input, names } = this.parts;
    if (complete && opened.statePath !== undefined) await removeState(opened.statePath);
    if (!complete && this.state.rows === 0) await this.removeFiles();
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

  /** Adds to the error how to resume the run. Removes the files of a run without results. */
  async fail(error: unknown): Promise<unknown> {
    const { options, opened } = this.parts;
    if (opened.statePath === undefined || !(error instanceof CliError)) return error;
    const { rows } = this.state;
    if (rows === 0) {
      // If a write failed, the records were scored and counted. The kept state makes the next run send the same
      // idempotency keys.
      if (error.code !== outputUnwritable) await this.removeFiles();
      return error;
    }
    const kept = `Rows 1-${countText(rows)} are in ${options.output.path}. Run the same command again to resume after them.`;
    const { code, exitCode, details, message } = error;
    return new CliError(`${message}\n${kept}`, {
      code,
      exitCode,
      details: { ...details, rows_done: rows },
      cause: error,
    });
  }

  /** Removes output and state. Safe before the first call ends: it goes alone, so no record has been scored. */
  private async removeFiles(): Promise<void> {
    const { options, opened } = this.parts;
    if (opened.statePath === undefined) return;
    await removeState(opened.statePath);
    await rm(options.output.path, { force: true });
  }

  private get keepsColumns(): boolean {
    const { options, input, opened } = this.parts;
    return !options.onlyScores && input.format === 'csv' && opened.format === 'csv';
  }

  private get form() {
    return { format: this.parts.opened.format, explain: this.parts.options.explain, kept: this.kept };
  }

  private keepHeader(header: CsvHeader): void {
    const { options, input } = this.parts;
    this.digest.addHeader(header.names);
    const hasByteOrderMark = input.hasByteOrderMark();
    if (this.keepsColumns) this.kept = keptColumns(header, { explain: options.explain, hasByteOrderMark });
  }

  private renamed(): string[] {
    const prefix = this.kept?.prefix ?? '';
    if (prefix === '') return [];
    return [`The file has columns of scores already. The new ones begin with ${prefix}`];
  }

  /** Writes the header of the output, and the state. */
  private async begin(): Promise<void> {
    const { output, statePath } = this.parts.opened;
    await output.write(headerText(this.form));
    this.state = { ...this.state, outputBytes: output.bytes };
    if (statePath !== undefined) await writeState(statePath, this.state);
  }

  private async keep(scored: ScoredBatch): Promise<void> {
    const { options, input, opened } = this.parts;
    const { batch } = scored;
    await opened.output.write(scoredText(scored, this.form));
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
    const records = new Map(batch.records.map((record) => [record.row, record]));
    for (let row = this.state.rows + 1; row <= batch.lastRow; row += 1) this.digest.add(records.get(row));
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

/** Stays undefined when an older version, which did not count them, started the run. */
const countedCrmIds = ({ withCrmId }: RunFigures, rows: readonly ScoreRow[]): Pick<RunFigures, 'withCrmId'> =>
  withCrmId === undefined ? {} : { withCrmId: withCrmId + rows.filter((row) => row.crm_id !== undefined).length };

/** Replies arrive out of order, so the highest usage is the latest, unless a new month has started. */
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
