import { setTimeout as pause } from 'node:timers/promises';
import { eachAtOnce } from '../../../shared/async/at-once.js';
import type { ReplyUsage, ScoreRow } from '../../cli/calls/api-reply.js';
import { type InputSums, withSummary } from '../../cli/output/input-summary.js';
import { Progress } from '../../cli/output/progress.js';
import { fillLines } from '../../cli/output/wrap-text.js';
import type { LeadRecord } from '../../leads/lead-record.js';
import type { ScreenStream } from './screen.js';

export interface ScoreTarget {
  /** The address of the service, without `/v1`. */
  readonly baseUrl: string;
  readonly modelId: string;
  readonly apiKey: string;
}

export type ScoredPass = Awaited<ReturnType<typeof scorePass>>;

/** The records of a call, at most, and the calls in flight. */
const [recordsPerCall, callsAtOnce] = [1_000, 4];

interface BatchReply {
  readonly scores: readonly ScoreRow[];
  readonly input_summary: InputSums;
  readonly usage?: ReplyUsage;
}

/**
 * Scores records over HTTP in batches, and shows the progress. Values are sent as the cells of a CSV: as text, and
 * empty ones not at all.
 * @returns the rows, their figures, and how the fields were read
 * @throws Error when the service refuses a call; the signal's reason when it is aborted
 */
export async function scorePass(
  pass: ScoreTarget & { readonly records: readonly LeadRecord[]; readonly label: string },
  stream: ScreenStream,
  signal: AbortSignal,
) {
  const { records, modelId, label } = pass;
  const progress = new Progress({ stream, label, unit: 'records', lineEveryMs: 2_000 });
  const beganMs = performance.now();
  const rows: ScoreRow[] = new Array(records.length);
  let input: InputSums | undefined;
  let done = 0;
  const scoreFrom = async (start: number): Promise<void> => {
    const batch = records.slice(start, start + recordsPerCall).map(cellsOf);
    const body = JSON.stringify({ model_id: modelId, records: batch, input_report: 'summary' });
    const reply = await post<BatchReply>({ ...singleCall(pass, {}), body }, signal);
    for (const [index, row] of reply.scores.entries()) rows[start + index] = row;
    input = withSummary(input, reply.input_summary);
    done += batch.length;
    progress.update({ done, fraction: done / records.length });
  };
  const starts = Array.from({ length: Math.ceil(records.length / recordsPerCall) }, (_, call) => call * recordsPerCall);
  progress.start();
  await eachAtOnce(starts, callsAtOnce, scoreFrom).finally(() => progress.stop());
  const elapsedMs = performance.now() - beganMs;
  const summary = {
    records: rows.length,
    calls: starts.length,
    seconds: Math.round(elapsedMs) / 1000,
    records_per_second: Math.round((1000 * rows.length) / elapsedMs),
    enriched: rows.filter((row) => row.enriched).length,
    with_warnings: rows.filter((row) => (row.warnings ?? []).length > 0).length,
  };
  return { rows, summary, input };
}

/** The values of a record as the cells of a CSV have them. */
const cellsOf = (record: LeadRecord): Record<string, string> =>
  Object.fromEntries(
    Object.entries(record)
      .map(([name, value]) => [name, value === null ? '' : String(value)] as const)
      .filter(([, cell]) => cell !== ''),
  );

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

/** A longer wait is for the quota. */
const maxWaitSeconds = 5;
const maxAttempts = 10;

/** Within single quotes a shell changes nothing. A single quote stands between two such parts, escaped. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * Sends a call, again after 429 and after an error of the service: neither was counted.
 * @throws Error when the service refuses the call; the signal's reason when it is aborted
 */
export async function post<Reply>(call: Omit<ScoreCall, 'curl'>, signal: AbortSignal): Promise<Reply> {
  const { url, headers, body } = call;
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(url, { method: 'POST', headers, body, signal });
    const text = await response.text();
    if (response.status === 200) return JSON.parse(text);
    const waitSeconds = Number(response.headers.get('retry-after') ?? 1);
    const mayPass = response.status === 429 || response.status >= 500;
    if (!mayPass || waitSeconds > maxWaitSeconds || attempt === maxAttempts)
      throw new Error(`POST ${url} was refused (${response.status}): ${text}`);
    await pause(1000 * waitSeconds, undefined, { signal });
  }
}
