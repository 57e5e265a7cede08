import { RepeatedIds, repeatsText } from '../../../shared/files/repeated-ids.js';
import type { KnownFields } from '../../../shared/messages/field-slots.js';
import { CliError } from '../context/cli-error.js';
import { mistakeSentences } from '../outcomes/mistakes.js';
import { countText } from '../output/readable-numbers.js';
import type { RecordedCalls } from './calls/recorded-calls.js';
import type { BatchScorer, ScoredBatch } from './calls/score-batch.js';
import { sendInOrder } from './calls/send-in-order.js';
import { csvRecords } from './input/csv-records.js';
import type { InputNames } from './input/field-names.js';
import { type CsvHeader, type InputFile, type InputRecord, openInput } from './input/input-file.js';
import { jsonlRecords } from './input/jsonl-records.js';
import { type BatchLimits, recordBatches, withFirstRead } from './input/record-batches.js';
import type { OpenRun } from './output/open-run.js';
import { headerText, type KeptColumns, keptColumns, scoredText } from './output/scored-output.js';
import { rangesOf } from './progress/journal.js';
import type { ResultPool } from './progress/result-pool.js';
import { FileDigest, skipRows, textDigest, unchangedBatches } from './progress/row-digests.js';
import type { Replay } from './progress/run-progress.js';
import { FigureSums, reusedScores } from './run-figures.js';
import type { RunReport, ScoreFileOptions } from './run-report.js';

export interface RunParts {
  readonly options: ScoreFileOptions;
  readonly input: InputFile;
  readonly opened: OpenRun;
  readonly calls: RecordedCalls;
  readonly scorer: BatchScorer;
  /** Undefined when they could not be read. */
  readonly fields: KnownFields | undefined;
  readonly names: InputNames;
  readonly limits: BatchLimits | undefined;
}

/** Records of a file from a certain row on, and the digest of what precedes them. */
interface Reading {
  readonly input: InputFile;
  readonly records: AsyncGenerator<InputRecord>;
  readonly digest: FileDigest;
  /** Filled up to the end of the file. */
  readonly notices: string[];
  readonly ids: RepeatedIds;
}

/** One run over a file and its progress. */
export class ScoreRun {
  private kept: KeptColumns | undefined;
  private resumedAfterRow = 0;
  private reading: Pick<Reading, 'input' | 'notices' | 'ids'> | undefined;

  constructor(private readonly parts: RunParts) {}

  /**
   * Sends all batches and writes their results.
   * @returns false when stopped before the end
   */
  async sendAll(): Promise<boolean> {
    const { options, scorer, names, limits } = this.parts;
    const { progress } = this.parts.opened;
    let reading = await this.read(this.parts.input);
    for (const notice of [...names.notices(), ...this.renamed()]) options.listener.notice?.(notice);
    const before = progress.batches;
    const unchanged = await unchangedBatches(reading.records, before, reading.digest);
    if (unchanged < before.length) {
      await reading.records.return(undefined);
      reading = await this.read(await openInput(options.path));
      await skipRows(reading.records, before[unchanged - 1]?.rows ?? 0, reading.digest);
    }
    this.reading = reading;
    const check = async (earlier: ResultPool): Promise<void> => {
      if (unchanged === 0 && before.length > 0 && earlier.size > 0) await this.requireCommonRow(earlier);
    };
    await progress.resume(unchanged, { form: this.form, replay: this.replay, check });
    this.resumedAfterRow = progress.rows;
    if (progress.rows === 0) await this.begin();
    this.announce(before.at(-1)?.rows ?? 0);
    const sums = new FigureSums(progress.figures);
    let isFirst = true;
    const { pool } = progress;
    return sendInOrder(recordBatches(reading.records, { digest: reading.digest, pool }, limits), {
      concurrency: () => (isFirst ? 1 : options.concurrency),
      signal: options.signal,
      send: (batch) => scorer.score(batch),
      keep: async (scored) => {
        isFirst = false;
        await this.keep(scored, sums);
      },
    });
  }

  /** Ends a completed or stopped run. Removes the progress of a completed one, unless rows can be corrected. */
  async finish(complete: boolean): Promise<RunReport> {
    const { options, opened, input, names } = this.parts;
    const { progress } = opened;
    const { rows, figures } = progress;
    if (complete && figures.records === 0)
      throw figures.refused === 0 ? nothingToScore(input.name) : nothingScored(input.name, figures);
    if (complete && figures.refused === 0) await progress.removeProgress();
    if (!complete && progress.isEmpty) await progress.removeAll();
    return {
      input: input.path,
      name: input.name,
      output: options.output.path,
      complete,
      rows,
      resumedAfterRow: this.resumedAfterRow,
      format: input.format,
      figures,
      fields: names.report(complete),
      notices: complete ? this.notices() : [],
    };
  }

  /** Adds to the error what was counted, and how to resume the run. Removes the files of a run without results. */
  async fail(error: unknown): Promise<unknown> {
    const { options, opened } = this.parts;
    const { progress, folder } = opened;
    if (!(error instanceof CliError)) return error;
    if (progress.isEmpty) {
      // The error that is thrown says more than a second one of the same disk.
      await progress.removeAll().catch(() => undefined);
      return error;
    }
    if (!progress.knowsEarlier) return error;
    const { records } = progress.figures;
    const waiting = progress.waitingRows;
    const counted = records + waiting;
    const { code, exitCode, details, message } = error;
    return new CliError(
      `${message}\n${keptSentences({ counted, waiting, hasOpen: progress.calls.hasOpen, output: options.output.path, folder })}`,
      {
        code,
        exitCode,
        details: { ...details, rows_done: progress.rows, records_counted: counted, records_written: records },
        cause: error,
      },
    );
  }

  private notices(): string[] {
    const { ids, notices = [] } = this.reading ?? {};
    return [...notices, repeatsText(ids?.repeats), ids?.edgesNotice].filter((notice) => notice !== undefined);
  }

  private async read(input: InputFile): Promise<Reading> {
    const { options, fields, names } = this.parts;
    const notices: string[] = [];
    const ids = new RepeatedIds();
    const digest = new FileDigest(this.keepsColumns);
    const reading = {
      crmIdField: options.crmIdField,
      fields,
      onNotice: (notice: string) => void notices.push(notice),
      onCrmId: (crmId: string, line: number) => ids.add(crmId, line),
      onNames: (seen: readonly string[]) => names.add(seen),
      onHeader: (header: CsvHeader) => {
        this.keepHeader(header, input.hasByteOrderMark());
        digest.addHeader(headerText(this.form));
      },
    };
    const records = await withFirstRead(
      input.format === 'csv' ? csvRecords(input, reading) : jsonlRecords(input, reading),
    );
    return { input, records, digest, notices, ids };
  }

  /** Another file under the same name must not replace the output, or be counted without a word. */
  private async requireCommonRow(earlier: ResultPool): Promise<void> {
    const { path } = this.parts.options;
    const { records } = await this.read(await openInput(path));
    for await (const { text } of records) if (text !== undefined && earlier.has(textDigest(text))) return;
    throw noCommonRow(this.parts.input.name, earlier.size);
  }

  private readonly replay: Replay = async (call, rows) => {
    const reply = await this.parts.calls.replay(call, rows, this.parts.options.sendAgain === true);
    return reply?.scores.map((scored) => ({ scored }));
  };

  private get keepsColumns(): boolean {
    const { options, input, opened } = this.parts;
    return !options.onlyScores && input.format === 'csv' && opened.format === 'csv';
  }

  private get form() {
    return { format: this.parts.opened.format, explain: this.parts.options.explain, kept: this.kept };
  }

  private keepHeader(header: CsvHeader, hasByteOrderMark: boolean): void {
    const { explain } = this.parts.options;
    if (this.keepsColumns) this.kept = keptColumns(header, { explain, hasByteOrderMark });
  }

  private renamed(): string[] {
    const prefix = this.kept?.prefix ?? '';
    if (prefix === '') return [];
    return [`The file has columns of scores already. The new ones begin with ${prefix}`];
  }

  /** Writes the header of the output. */
  private async begin(): Promise<void> {
    const { kept } = this;
    const begun = { columns: kept?.names.length ?? 2, delimiter: kept?.delimiter ?? ',' };
    await this.parts.opened.progress.begin(headerText(this.form), begun);
  }

  /** @param rowsBefore rows that earlier runs had reached */
  private announce(rowsBefore: number): void {
    const { listener } = this.parts.options;
    const { rows, pool } = this.parts.opened.progress;
    if (rows < rowsBefore)
      listener.notice?.(
        `The file has changed after row ${countText(rows)}. ${countText(pool.size)} results of earlier runs are used again where their rows still are`,
      );
    listener.started(rows);
  }

  private async keep(scored: ScoredBatch, sums: FigureSums): Promise<void> {
    const { options, input, opened } = this.parts;
    const { progress } = opened;
    // An edited file is read from its start again. The size of a gzipped one is known from its own reading alone.
    const { inflatedBytes } = this.reading?.input ?? input;
    const { batch, calls, took } = scored;
    const figures = sums.with(scored);
    if (figures.records === 0 && figures.refused > 0 && progress.isEmpty) throw nothingScored(input.name, figures);
    const kept = {
      rows: batch.lastRow,
      digest: batch.fileDigest,
      lines: Buffer.concat(batch.rows.map(({ digest }) => digest)).toString('base64'),
      calls,
      took: rangesOf(took),
      figures,
    };
    await progress.keep(scoredText(scored, this.form), kept, reusedScores(scored));
    options.listener.progress({
      done: figures.records,
      fraction: Math.min(1, batch.endByte / inflatedBytes()),
    });
  }
}

const maxReasons = 5;

const nothingScored = (
  name: string,
  { refused, mistakes }: Pick<RunReport['figures'], 'refused' | 'mistakes'>,
): CliError => {
  const reasons = mistakeSentences(mistakes, name);
  return new CliError(
    [
      `None of the first ${countText(refused)} rows of ${name} can be scored, so the run has stopped. Nothing was counted. Correct the file, then run the same command again:`,
      ...reasons.slice(0, maxReasons),
    ].join('\n'),
    { code: 'nothing_scored', details: { problems: reasons } },
  );
};

const nothingToScore = (name: string): CliError =>
  new CliError(`${name} has no row with a value, so nothing was scored. Check that it is the right file`, {
    code: 'nothing_scored',
  });

const noCommonRow = (name: string, rows: number): CliError =>
  new CliError(
    `${name} has none of the ${countText(rows)} rows that earlier runs have scored into this output. For another file, name another output with --out. If all rows have changed, use --restart: all of them are scored and counted again`,
    { code: 'input_changed' },
  );

/** States what was counted, where it is, and how to go on. */
function keptSentences({
  counted,
  waiting,
  hasOpen,
  output,
  folder,
}: {
  readonly counted: number;
  /** Counted rows that are not yet in the output. */
  readonly waiting: number;
  /** Whether a call may have been counted without a reply. */
  readonly hasOpen: boolean;
  readonly output: string;
  readonly folder: string | undefined;
}): string {
  const rows = `${countText(counted)} rows were scored and counted`;
  const written = `${countText(counted - waiting)} of them are in`;
  if (folder === undefined) return `${rows}; ${written} standard output. A run into standard output cannot be resumed.`;
  const sentences = [
    waiting === 0
      ? `${rows}; all of them are in ${output}.`
      : `${rows}; ${written} ${output}. The next run writes the other ${countText(waiting)} from ${folder}, unless you delete these rows.`,
    ...(hasOpen ? ['Other rows were sent, but their reply was lost. The next run asks for it within 24 hours.'] : []),
    'Run the same command again to resume. No row is counted twice, also if you edit the file before.',
  ];
  return sentences.join('\n');
}
