import { Command, Help } from 'commander';
import { ownRelease } from '../../shared/process/release.js';
import { addAuditCommand } from './commands/audit.js';
import { addConsoleCommands } from './commands/console.js';
import { addDoctorCommand } from './commands/fleet/doctor.js';
import { addLeadIndexCommand } from './commands/fleet/lead-index.js';
import { addMigrateCommand } from './commands/fleet/migrate.js';
import { addStatusCommand } from './commands/fleet/status.js';
import { addJobCommands } from './commands/jobs/job-commands.js';
import { addKeyCommands } from './commands/keys/keys.js';
import { addLeadCommands } from './commands/leads.js';
import { addModelCommands } from './commands/models/model-commands.js';
import { addOrganisationCommands } from './commands/organisations/organisations.js';
import { addOutcomesCommands } from './commands/outcomes.js';
import { addRestoreCommands } from './commands/restore.js';
import { addScoreCommand } from './commands/score.js';
import { addShardCommand } from './commands/shard.js';
import { addTrainCommand } from './commands/train.js';
import { addUsageCommands } from './commands/usage/usage-commands.js';
import { addValidationCommands } from './commands/validation/validation-commands.js';
import type { CliContext } from './context/cli-context.js';

/**
 * Builds the command tree. Parsing throws CommanderError instead of ending the process; the caller prints its message.
 * Commands with heavy dependencies (drivers, ONNX, BullMQ) import them when they run.
 */
export function createProgram(context: CliContext): Command {
  const program = new Command('leadscore')
    .description('Operate Leadscore: organisations, API keys, models and usage. Score whole files.')
    .version(ownRelease(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    // Lets a command define an option that the program also has: `model set --version`.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      outputError: () => undefined,
      getOutHelpWidth: () => 80,
      getErrHelpWidth: () => 80,
    })
    .configureHelp({
      optionDescription: (option) => `${new Help().optionDescription(option)}${option.mandatory ? ' (required)' : ''}`,
    })
    .addHelpText('after', helpFooter);
  addOrganisationCommands(program, context);
  addKeyCommands(program, context);
  addModelCommands(program, context);
  addTrainCommand(program, context);
  addUsageCommands(program, context);
  addLeadCommands(program, context);
  addOutcomesCommands(program, context);
  addValidationCommands(program, context);
  addConsoleCommands(program, context);
  addAuditCommand(program, context);
  addStatusCommand(program, context);
  addDoctorCommand(program, context);
  addRestoreCommands(program, context);
  addShardCommand(program, context);
  addMigrateCommand(program, context);
  addLeadIndexCommand(program, context);
  addScoreCommand(program, context);
  addJobCommands(program, context);
  return program;
}

const helpFooter = `
Commands use the servers in MONGODB_URL and REDIS_URL. Without these settings
they use the ones that \`npm start\` or \`npm run demo -- --keep\` started on
this machine. \`score\` and \`job\` only use HTTP, except \`job list --org\`.
Exit codes: 0 success, 1 failure, 2 usage error, 130 interrupted.

Example:
  npx leadscore org create --name "Acme" --plan pro
  npx leadscore key create org_4fzyo82mVYHgQ1bT
  npx leadscore model import ./bundle --org org_4fzyo82mVYHgQ1bT
  npx leadscore score leads.csv --model mdl_7Gx2dQpW0aZrTn5K --key @key.txt`;
