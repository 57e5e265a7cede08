import { type Command, Option } from 'commander';
import { jobLimits } from '../../../shared/store/jobs/job-documents.js';
import { addAccessOptions } from '../context/api-access.js';
import type { CliContext } from '../context/cli-context.js';
import { defineCommand, nonBlank, wholeNumber } from './define-command.js';
import type { ScoreFileOptions } from './jobs/score-file.js';

/** Adds `score`. */
export function addScoreCommand(program: Command, context: CliContext): void {
  const command = defineCommand(program, {
    usage: 'score <file>',
    description: 'Score a CSV or JSONL file (or .gz) on the service, and write its results beside it',
    examples: [
      'score leads.csv --model mdl_7Gx2dQpW0aZrTn5K --key @key.txt --crm-id "Lead ID"',
      'score leads.jsonl.gz --model mdl_7Gx2dQpW0aZrTn5K --key @key.txt --out scored.jsonl --explain',
    ],
    notes: notes.trim(),
  }).requiredOption('--model <model>', 'model id', nonBlank);
  addFileOptions(addAccessOptions(command, context.config))
    .option('--only-scores', 'leave the columns of the file out of the results: crm_id, row and the scores')
    .option('--out <file>', 'the results, in the format of the file; - for standard output (default: FILE.scored.csv)')
    .option('--force', 'replace a file that lies where the results go')
    .action(async (path: string, options: ScoreFileOptions) => {
      const { scoreFile } = await import('./jobs/score-file.js');
      await context.present(options, scoreFile(context, path, options));
    });
}

/** Adds the options of a job, which `score` and `job create` share. */
export const addFileOptions = (command: Command): Command =>
  command
    .option('--crm-id <column>', 'column that identifies a record (default: crm_id, if it exists)')
    .option('--explain', 'add reasons: top_reason_1 to 3, in JSONL also the drivers')
    .addOption(
      new Option('--stop-at <stop>', 'where in the quota of the month the job pauses')
        .choices(['limit', 'backstop'])
        .default('limit'),
    )
    .option(
      '--max-errors <rows>',
      'failed rows after which the job pauses',
      wholeNumber({ min: 0, max: jobLimits.maxErrors }),
      jobLimits.defaultMaxErrors,
    )
    .option('--no-previous', 'do not look up earlier scores: faster, without previous_score and fill-in')
    .option('--strict', 'refuse a file with unknown columns; `score` also exits with 1 if a row failed')
    .option('--again', 'score a file once more that was scored; its rows count once more')
    .option('--yes', 'score all rows of a file that has changed, without a question');

const notes = `
The file becomes a job on the service (docs/bulk.md), as by \`job create\`. This
command uploads it, waits, and downloads the results. Ctrl-C ends the wait, not
the job. The same command goes on where it was, also on another machine.

While its job is kept (JOB_RETENTION_DAYS, 7 days), a file is counted once. The
same content with the same options is the same job, whatever its name. A changed
file is another one: all its rows count. The command asks before that. Without a
terminal it refuses, unless --yes is there.

The results have all columns of the file as they are, then score,
conversion_likelihood, enriched, previous_score, delta, warnings and error. Rows
that failed have the reason in error, and are not counted. FILE.errors.csv has
these rows alone, with the columns of the file: correct them there, and score
that file.

docs/bulk.md says which files are read, and what is refused. A job pauses when
the month is full, and goes on in the next one, or when the limit is raised.`;
