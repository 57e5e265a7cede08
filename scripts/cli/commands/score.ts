import { basename, dirname, join } from 'node:path';
import type { Command } from 'commander';
import { addAccessOptions, readKey, readUrl } from '../context/api-access.js';
import { type CliContext, lineWidth } from '../context/cli-context.js';
import { exitCodes, usageError } from '../context/cli-error.js';
import { runThroughFile } from '../context/file-run.js';
import type { RunReport } from '../score/run-report.js';
import { defineCommand, nonBlank, wholeNumber } from './define-command.js';

/** Adds `score`. */
export function addScoreCommand(program: Command, context: CliContext): void {
  const command = defineCommand(program, {
    usage: 'score <file>',
    description: 'Score a CSV or JSONL file (or .gz) through the API into another file, in the same order',
    examples: [
      'score leads.csv --model mdl_7Gx2dQpW0aZrTn5K --key @key.txt --crm-id "Lead ID"',
      'score leads.jsonl.gz --model mdl_7Gx2dQpW0aZrTn5K --key @key.txt --out scored.jsonl --explain',
    ],
    notes: notes.trim(),
  }).requiredOption('--model <model>', 'model id', nonBlank);
  addAccessOptions(command, context.config)
    .option('--out <file>', 'a .csv or .jsonl file, or - for standard output (default: FILE.scored.csv)')
    .option('--crm-id <column>', 'column that identifies a record (default: crm_id, if it exists)')
    .option('--only-scores', 'leave the columns of the file out of the CSV: crm_id, row and the scores')
    .option('--explain', 'add reasons: top_reason_1 to 3, in JSONL also the drivers')
    .option('--concurrency <calls>', 'maximum calls in flight', wholeNumber({ min: 1, max: 64 }), 4)
    .option('--restart', 'discard the progress of an earlier run and overwrite its output')
    .option('--send-again', 'send rows again whose reply was lost more than 24 hours ago; they may count twice')
    .option('--strict', 'exit with 1 if a row has no score')
    .action((path: string, options: ScoreOptions) => score(context, path, options));
}

const notes = `
A CSV file needs a header line. The delimiter (comma, semicolon, tab or |) is
detected, or named by a first line such as sep=; Text is UTF-8 or UTF-16. Empty
cells are not sent, so for a known record the service fills them from its earlier
values. In JSONL, null is sent and means missing. Columns without a name are not
sent. Empty rows and the footer of a report are skipped. Cells left out at the
end of a row are empty.

The column of the crm_id is found regardless of case, spaces, invisible characters,
_ and -. NULL, #N/A, - and the like are no crm_id. A file with a crm_id such as
1.20214E+17, which a spreadsheet has shortened, is refused.

A CSV of a CSV has all columns of the file as they are, then score,
conversion_likelihood, enriched, previous_score, delta, warnings and error. If
the file has a column of such a name already, all added ones begin with
leadscore_. The delimiter is that of the file; tabs become commas. With
--only-scores, or for JSONL, a CSV has crm_id and row (1 is the first record)
instead of the columns.

A row that cannot be scored has the reason in error, and is not counted. The end
names these rows. Correct them and run the same command again: it sends only the
rows that you have changed. The run stops if no row of the first call has a
score.

An added cell that a spreadsheet would take for a formula begins with an
apostrophe, and so does a crm_id with --only-scores. An apostrophe before a cell
of a CSV is no part of its value, as in a spreadsheet: '00123 is 00123. The
columns of the file stay as they are.

Before sending and again at the end, the command lists the fields that the model
knows but the file lacks. It also lists the columns that the model does not know.
For JSONL it lists both only at the end. Names match regardless of case, spaces,
invisible characters, _ and -.
Scores without a crm_id cannot be looked up later and cannot be graded.

After an interruption (Ctrl-C, lost connection, exhausted quota, power cut) run
the same command again to resume. The folder FILE.resume beside the output stores
the progress, with the calls in flight. Rows are recognised by their content, so
you may delete, insert and correct rows before you resume. No row is counted
twice, unless its reply was lost and you resume more than 24 hours later: the
command then asks for --send-again. A second run on the same output is refused
while the first one lives.`;

/** Parsed options of `score`. */
interface ScoreOptions {
  readonly model: string;
  readonly key: string;
  readonly url: string;
  readonly out?: string;
  readonly crmId?: string;
  readonly onlyScores?: boolean;
  readonly explain?: boolean;
  readonly concurrency: number;
  readonly restart?: boolean;
  readonly sendAgain?: boolean;
  readonly strict?: boolean;
  readonly json?: boolean;
}

async function score(context: CliContext, path: string, options: ScoreOptions): Promise<void> {
  const toStream = options.out === '-';
  if (toStream && options.json === true) throw usageError('--json and --out - both write to standard output');
  const { scoreFile } = await import('../score/score-file.js');
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
      onlyScores: options.onlyScores === true,
      explain: options.explain === true,
      sendAgain: options.sendAgain === true,
      concurrency: options.concurrency,
      signal,
      listener,
    }),
  );
  await present(context, report, options);
}

async function present(context: CliContext, report: RunReport, options: ScoreOptions): Promise<void> {
  const { summaryDocument, summaryText } = await import('../score/output/run-summary.js');
  const text = summaryText(report, { width: lineWidth(context.stderr) });
  const failed = options.strict === true && report.figures.refused > 0 ? exitCodes.failed : exitCodes.done;
  const exitCode = report.complete ? failed : exitCodes.interrupted;
  // Standard output contains the results, so the summary goes to standard error.
  if (report.output === '-') context.stderr.write(`${text}\n`);
  const result = { document: summaryDocument(report), text, exitCode, silent: report.output === '-' };
  await context.present(options, Promise.resolve(result));
}

/** `leads.csv.gz` becomes `leads.scored.csv` in the same folder. */
function defaultOutput(path: string): string {
  const name = basename(path)
    .replace(/\.gz$/i, '')
    .replace(/\.(csv|tsv|jsonl|ndjson)$/i, '');
  return join(dirname(path), `${name}.scored.csv`);
}
