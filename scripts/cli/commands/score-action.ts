import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type CliContext, lineWidth } from '../cli-context.js';
import { CliError, exitCodes, usageError } from '../cli-error.js';
import { fileProblem } from '../file-problem.js';
import { runThroughFile } from '../file-run.js';
import { summaryDocument, summaryText } from '../score/run-summary.js';
import { scoreFile } from '../score/score-file.js';
import type { RunReport } from '../score/score-run.js';

/** What the options of `score` hold after parsing. */
export interface ScoreOptions {
  readonly model: string;
  readonly key: string;
  readonly url: string;
  readonly out?: string;
  readonly crmId?: string;
  readonly explain?: boolean;
  readonly concurrency: number;
  readonly restart?: boolean;
  readonly json?: boolean;
}

/** Scores a file; Ctrl-C stops it in good order, a second one at once. */
export async function score(context: CliContext, path: string, options: ScoreOptions): Promise<void> {
  const toStream = options.out === '-';
  if (toStream && options.json === true) throw usageError('--json and --out - both write to standard output');
  const shown = { label: 'Scoring', unit: 'records', json: options.json };
  const report = await runThroughFile(context, shown, async (signal, listener) =>
    scoreFile({
      path,
      output: {
        path: options.out ?? defaultOutput(path),
        stream: context.stdout,
        restart: options.restart === true,
      },
      modelId: options.model,
      apiKey: await readKey(options.key),
      baseUrl: readUrl(options.url),
      crmIdField: options.crmId,
      explain: options.explain === true,
      concurrency: options.concurrency,
      signal,
      listener,
    }),
  );
  await present(context, report, options);
}

async function present(context: CliContext, report: RunReport, options: ScoreOptions): Promise<void> {
  const text = summaryText(report, { width: lineWidth(context.stderr) });
  const exitCode = report.complete ? exitCodes.done : exitCodes.interrupted;
  // Standard output has the results: what is said about them goes beside.
  if (report.output === '-') context.stderr.write(`${text}\n`);
  const result = { document: summaryDocument(report), text, exitCode, silent: report.output === '-' };
  await context.present(options, Promise.resolve(result));
}

/** `leads.csv.gz` becomes `leads.scored.csv`, beside it. */
function defaultOutput(path: string): string {
  const name = basename(path)
    .replace(/\.gz$/i, '')
    .replace(/\.(csv|tsv|jsonl|ndjson)$/i, '');
  return join(dirname(path), `${name}.scored.csv`);
}

async function readKey(given: string): Promise<string> {
  const key = given.startsWith('@') ? await readKeyFile(given.slice(1)) : given;
  if (key === '')
    throw usageError(`--key is empty${given === '' ? '' : `: there is nothing in ${given.slice(1)}`}`);
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw usageError('--key is not an API key: it holds spaces or other characters that no key has');
}

async function readKeyFile(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    throw new CliError(`The key file ${path} cannot be read: ${fileProblem(error)}`, {
      code: 'bad_input',
      cause: error,
    });
  }
}

function readUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text.replace(/\/v1\/?$/, '');
  throw usageError(`--url must be an http or https address such as http://127.0.0.1:8080, but is "${text}"`);
}
