import { type Command, Option } from 'commander';
import { storedLimits } from '../../../../shared/store/jobs/job-options.js';
import { addAccessOptions } from '../../context/api-access.js';
import type { CliContext } from '../../context/cli-context.js';
import type { JobCommand } from '../../jobs/job-client.js';
import { defineCommand, nonBlank, wholeNumber } from '../define-command.js';
import { addFileOptions } from '../score.js';
import type { CreateJobOptions } from './create-job.js';
import type { AccessOptions } from './job-options.js';
import type { ListJobsOptions, ResultsOptions } from './show-jobs.js';

const exampleJob = 'job_01k0dm2s9x7q4w8r6t3y5z1a2b';

/** Adds `job create`, `list`, `show`, `pause`, `resume`, `cancel`, `delete` and `results`. */
export function addJobCommands(program: Command, context: CliContext): void {
  const jobs = program.command('job').description('Bulk jobs: score a large file on the service. See docs/bulk.md');
  addCreate(jobs, context);
  addList(jobs, context);
  addShow(jobs, context);
  addChange(jobs, context, 'pause', 'Pause a job. Rows that are being scored are finished');
  addChange(jobs, context, 'resume', 'Let a paused job go on, whatever paused it');
  addChange(jobs, context, 'cancel', 'End a job. Its results so far stay, and their rows stay counted');
  addDelete(jobs, context);
  addResults(jobs, context);
}

function addCreate(jobs: Command, context: CliContext): void {
  const command = defineCommand(jobs, {
    usage: 'create [file]',
    description: 'Score a CSV or JSONL file (or .gz) as a job on the service, or stored leads again',
    examples: [
      'job create leads.csv.gz --model mdl_7Gx2dQpW0aZrTn5K --key @key.txt --crm-id "Lead ID"',
      'job create --stored --max-rows 50000 --model mdl_7Gx2dQpW0aZrTn5K --key @key.txt',
    ],
    notes: createNotes.trim(),
  }).requiredOption('--model <model>', 'model id', nonBlank);
  addFileOptions(addAccessOptions(command, context.config))
    .option('--no-input', 'leave the columns of the file out of the results')
    .option('--stored', 'score the leads again that the model has scored, without a file')
    .option(
      '--sent-within-days <days>',
      `with --stored: leads that were sent in so many days (default: ${storedLimits.defaultDays})`,
      wholeNumber({ min: 1, max: storedLimits.days }),
    )
    .option(
      '--max-rows <leads>',
      `with --stored: so many leads, those that were sent last (default: ${storedLimits.rows})`,
      wholeNumber({ min: 1, max: storedLimits.rows }),
    )
    .addOption(new Option('--format <format>', 'with --stored: format of the results').choices(['csv', 'jsonl']))
    .action(async (path: string | undefined, options: CreateJobOptions) => {
      const { createJob } = await import('./create-job.js');
      await context.present(options, createJob(context, path, options));
    });
}

const createNotes = `
The job runs on without this command. \`score FILE\` with the same options waits
for it, and downloads its results.

The same content with the same options finds its job again, and the upload goes
on where it was. To score it once more, add --again.

With --stored there is no file. Each lead counts once more. On one day (UTC), the
same command finds its job again, unless another version scores calls.

--strict refuses a file with columns that the model does not know, or with
such members in its first 1000 records. The job fails before a row is counted.`;

function addList(jobs: Command, context: CliContext): void {
  const command = defineCommand(jobs, {
    usage: 'list',
    description: 'List the jobs of an API key, newest first. Operators list those of an organisation',
    examples: ['job list --key @key.txt', 'job list --org org_4fzyo82mVYHgQ1bT'],
  });
  addAccessOptions(command, context.config, { keyIsRequired: false })
    .option('--org <org>', 'read the jobs of this organisation, of all keys, from MongoDB', nonBlank)
    .option('--limit <jobs>', 'at most this many jobs', wholeNumber({ min: 1, max: 1_000 }), 20)
    .action(async (options: ListJobsOptions) => {
      const { listJobs } = await import('./show-jobs.js');
      await context.present(options, listJobs(context, options));
    });
}

function addShow(jobs: Command, context: CliContext): void {
  const command = defineCommand(jobs, {
    usage: 'show <job>',
    description: 'Show a job: its state, its rows, why it is paused, the usage of the month',
    examples: [`job show ${exampleJob} --key @key.txt`],
  });
  addAccessOptions(command, context.config).action(async (jobId: string, options: AccessOptions) => {
    const { showJob } = await import('./show-jobs.js');
    await context.present(options, showJob(context, jobId, options));
  });
}

function addChange(jobs: Command, context: CliContext, name: JobCommand, description: string): void {
  const command = defineCommand(jobs, {
    usage: `${name} <job>`,
    description,
    examples: [`job ${name} ${exampleJob} --key @key.txt`],
  });
  addAccessOptions(command, context.config).action(async (jobId: string, options: AccessOptions) => {
    const { changeJob } = await import('./show-jobs.js');
    await context.present(options, changeJob(context, { jobId, command: name }, options));
  });
}

function addDelete(jobs: Command, context: CliContext): void {
  const command = defineCommand(jobs, {
    usage: 'delete <job>',
    description: 'Remove a job that has ended, with its files. Its scored rows stay counted',
    examples: [`job delete ${exampleJob} --key @key.txt`],
  });
  addAccessOptions(command, context.config)
    .option('--yes', 'skip the confirmation')
    .action(async (jobId: string, options: AccessOptions & { readonly yes?: boolean }) => {
      const { deleteJob } = await import('./show-jobs.js');
      await context.present(options, deleteJob(context, jobId, options));
    });
}

function addResults(jobs: Command, context: CliContext): void {
  const command = defineCommand(jobs, {
    usage: 'results <job>',
    description: 'Download the results of a job, or its failed rows: also while it runs',
    examples: [
      `job results ${exampleJob} --key @key.txt --out scored.csv`,
      `job results ${exampleJob} --key @key.txt --errors`,
    ],
    notes: 'A partial file is completed: the end of it is compared with the results first.',
  });
  addAccessOptions(command, context.config)
    .option('--out <file>', 'write to this file, gzipped if it ends in .gz (default: standard output)')
    .option('--errors', 'the rows that failed, with their errors')
    .action(async (jobId: string, options: ResultsOptions) => {
      const { downloadResults } = await import('./show-jobs.js');
      await context.present(options, downloadResults(context, jobId, options));
    });
}
