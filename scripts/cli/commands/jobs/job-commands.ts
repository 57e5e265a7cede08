import { type Command, Option } from 'commander';
import { jobLimits } from '../../../../shared/store/jobs/job-documents.js';
import { addAccessOptions } from '../../context/api-access.js';
import type { CliContext } from '../../context/cli-context.js';
import type { JobCommand } from '../../jobs/job-client.js';
import { defineCommand, nonBlank, wholeNumber } from '../define-command.js';
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
    usage: 'create <file>',
    description: 'Upload a CSV or JSONL file (or .gz) as a job, which scores it on the service',
    examples: [
      'job create leads.csv.gz --model mdl_7Gx2dQpW0aZrTn5K --key @key.txt --crm-id "Lead ID"',
      'job create leads.csv --model mdl_7Gx2dQpW0aZrTn5K --key @key.txt --wait --out scored.csv',
    ],
    notes: createNotes.trim(),
  }).requiredOption('--model <model>', 'model id', nonBlank);
  addAccessOptions(command, context.config)
    .option('--crm-id <column>', 'column that identifies a record (default: crm_id, if it exists)')
    .option('--explain', 'add reasons: top_reason_1 to 3')
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
    .option('--no-input', 'leave the columns of the file out of the results')
    .option('--wait', 'wait for the end of the job')
    .option('--strict', 'refuse a file with unknown columns; with --wait, exit with 1 if a row failed')
    .option('--out <file>', 'with --wait: download the results to this file; gzipped if it ends in .gz')
    .action(async (path: string, options: CreateJobOptions) => {
      const { createJob } = await import('./create-job.js');
      await context.present(options, createJob(context, path, options));
    });
}

const createNotes = `
The same command for the same file finds its job again. After any interruption
run it again: it continues the upload, the wait or the download. A changed file
or option makes another job. To score an unchanged file twice, delete its job.

--wait also waits while the job is paused. Ctrl-C ends the wait, not the job.
The exit code is 1 if the job failed or was canceled. Rows that failed change it
with --strict alone; \`job results JOB --errors\` lists them with the reasons.

--strict also refuses a file with columns that the model does not know, or with
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
