import { readFile } from 'node:fs/promises';
import type { ReplyUsage, ScoreRow } from '../../cli/score/api-reply.js';
import { batchLimits } from '../../cli/score/record-batches.js';
import { scoreFile } from '../../cli/score/score-file.js';
import { Progress } from '../../terminal/progress.js';
import { DemoProblem } from './demo-problem.js';
import type { ScreenStream } from './screen.js';

/** One file, scored. */
export interface ScoredPass {
  /** One for each line of the file, in its order. */
  readonly rows: readonly ScoreRow[];
  readonly calls: number;
  /** From the first call to the last answer. */
  readonly elapsedMs: number;
  readonly recordsPerSecond: number;
  readonly usage: ReplyUsage;
}

export interface PassOptions {
  readonly label: string;
  /** A CSV with a column `crm_id`. */
  readonly path: string;
  /** JSONL: a line for each record, as the API answered. */
  readonly outputPath: string;
  readonly url: string;
  readonly modelId: string;
  readonly apiKey: string;
  readonly stream: ScreenStream;
  readonly signal: AbortSignal;
}

/** Calls under way at once, as `npx leadscore score` has them. */
const concurrency = 4;

/**
 * Scores a CSV file over HTTP with the code of `npx leadscore score`, and shows how far it has come.
 * @throws CliError when the service refuses something; the signal's reason when it is aborted
 */
export async function scorePass(options: PassOptions): Promise<ScoredPass> {
  const { label, path, outputPath, stream, signal } = options;
  const progress = new Progress({ stream, label, unit: 'records', lineEveryMs: 2_000 });
  try {
    const { figures } = await scoreFile({
      path,
      output: { path: outputPath, stream, restart: true },
      modelId: options.modelId,
      apiKey: options.apiKey,
      baseUrl: options.url,
      crmIdField: undefined,
      explain: false,
      concurrency,
      signal,
      listener: {
        started: () => progress.start(),
        progress: (state) => progress.update(state),
        waiting: (why) => progress.waiting(why),
      },
    });
    signal.throwIfAborted();
    const { records, elapsedMs, usage } = figures;
    if (usage === undefined) throw new DemoProblem('The service answered without saying the usage.');
    return {
      rows: await readRows(outputPath),
      calls: Math.ceil(records / batchLimits.records),
      elapsedMs,
      recordsPerSecond: Math.round((1000 * records) / elapsedMs),
      usage,
    };
  } finally {
    progress.stop();
  }
}

async function readRows(path: string): Promise<ScoreRow[]> {
  const text = await readFile(path, 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line): ScoreRow => JSON.parse(line));
}
