import { readFile } from 'node:fs/promises';
import { Progress } from '../../cli/output/progress.js';
import { fillLines } from '../../cli/output/wrap-text.js';
import type { ScoreRow } from '../../cli/score/calls/api-reply.js';
import { batchLimits } from '../../cli/score/input/record-batches.js';
import { scoreFile } from '../../cli/score/score-file.js';
import type { LeadRecord } from '../../leads/lead-record.js';
import type { ScreenStream } from './screen.js';

export interface ScoreTarget {
  /** The address of the service, without `/v1`. */
  readonly baseUrl: string;
  readonly modelId: string;
  readonly apiKey: string;
}

export type ScoredPass = Awaited<ReturnType<typeof scorePass>>;

/**
 * Scores a CSV file over HTTP with the code of `npx leadscore score`, and shows the progress.
 * @param pass.outputPath JSONL: a line for each record, as the API answered
 * @returns the rows, their figures, and how the fields of the file were read
 * @throws CliError when the service refuses a call; the signal's reason when it is aborted
 */
export async function scorePass(
  pass: ScoreTarget & { readonly path: string; readonly outputPath: string; readonly label: string },
  stream: ScreenStream,
  signal: AbortSignal,
) {
  const progress = new Progress({ stream, label: pass.label, unit: 'records', lineEveryMs: 2_000 });
  const listener = {
    started: () => progress.start(),
    progress: progress.update.bind(progress),
    waiting: progress.waiting.bind(progress),
  };
  const output = { path: pass.outputPath, stream, restart: true };
  const settings = { crmIdField: undefined, explain: false, onlyScores: true, concurrency: 4 };
  const { figures } = await scoreFile({ ...pass, ...settings, output, signal, listener }).finally(() =>
    progress.stop(),
  );
  signal.throwIfAborted();
  const lines = (await readFile(pass.outputPath, 'utf8')).trimEnd().split('\n');
  const rows = lines.map((line): ScoreRow => JSON.parse(line));
  const summary = {
    records: rows.length,
    calls: Math.ceil(rows.length / batchLimits.records),
    seconds: Math.round(figures.elapsedMs) / 1000,
    records_per_second: Math.round((1000 * rows.length) / figures.elapsedMs),
    enriched: rows.filter((row) => row.enriched).length,
    with_warnings: rows.filter((row) => (row.warnings ?? []).length > 0).length,
  };
  return { rows, summary, input: figures.input };
}

export type ScoreCall = ReturnType<typeof singleCall>;

/**
 * Writes the call that scores one record with reasons, as a request and as a `curl` line for a POSIX shell. Null fields
 * are left out.
 */
export function singleCall({ baseUrl, modelId, apiKey }: ScoreTarget, record: LeadRecord) {
  const fields = Object.entries(record).filter(([, value]) => value !== null);
  const members = fields.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  const pieces = members.map((member, index) => (index === members.length - 1 ? member : `${member},`));
  const lines = fillLines(pieces, { width: 78, joint: ' ' }).map((line) => `  ${line}\n`);
  const head = `{"model_id": ${JSON.stringify(modelId)}, "explain": true, "records": [{`;
  const body = `${head}\n${lines.join('')}}]}`;
  const url = `${baseUrl}/v1/score`;
  const headers = { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' };
  const options = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  const curl = [`curl -s ${url}`, ...options, `-d ${quoted(body)}`].join(' \\\n  ');
  return { url, headers, body, curl };
}

/** Within single quotes a shell changes nothing. A single quote stands between two such parts, escaped. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** @throws Error when the service refuses the call; the signal's reason when it is aborted */
export async function post<Reply>({ url, headers, body }: ScoreCall, signal: AbortSignal): Promise<Reply> {
  const response = await fetch(url, { method: 'POST', headers, body, signal });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`POST ${url} was refused (${response.status}): ${text}`);
  return JSON.parse(text);
}
