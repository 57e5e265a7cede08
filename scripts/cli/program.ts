import { readFileSync } from 'node:fs';
import { Command, Help } from 'commander';
import { projectFile } from '../../shared/project-root.js';
import type { CliContext } from './cli-context.js';
import { addKeyCommands } from './commands/key-commands.js';
import { addModelCommands } from './commands/model-commands.js';
import { addOrganisationCommands } from './commands/organisation-commands.js';
import { addOutcomesCommands } from './commands/outcomes-commands.js';
import { addScoreCommand } from './commands/score-command.js';
import { addUsageCommands } from './commands/usage-commands.js';
import { addValidationCommands } from './commands/validation-commands.js';

/**
 * The whole command line as a tree. Parsing throws CommanderError instead of ending the process; its messages are
 * printed by whoever runs it. Commands with much to load load it when they are called.
 */
export function createProgram(context: CliContext): Command {
  const program = new Command('leadscore')
    .description('Operate Leadscore: organisations, API keys, models and usage; score whole files.')
    .version(ownVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    // A command may have an option of the same name as the program's: `model set --version`.
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
      optionDescription: (option) =>
        `${new Help().optionDescription(option)}${option.mandatory ? ' (required)' : ''}`,
    })
    .addHelpText('after', closingWords);
  addOrganisationCommands(program, context);
  addKeyCommands(program, context);
  addModelCommands(program, context);
  addUsageCommands(program, context);
  addOutcomesCommands(program, context);
  addValidationCommands(program, context);
  addScoreCommand(program, context);
  return program;
}

const closingWords = `
Works on the servers that MONGODB_URL and REDIS_URL name or, without them, on
those that \`npm start\` or \`npm run demo -- --keep\` runs on this machine.
\`score\` speaks HTTP only.
Exit codes: 0 done, 1 failed, 2 called wrongly, 130 interrupted.

Example:
  npx leadscore org create --name "Acme" --plan pro
  npx leadscore key create org_4fzyo82mVYHgQ1bT
  npx leadscore model import ./bundle --org org_4fzyo82mVYHgQ1bT
  npx leadscore score leads.csv --model mdl_7Gx2dQpW0aZrTn5K --key @key.txt`;

function ownVersion(): string {
  const file: unknown = JSON.parse(readFileSync(projectFile('package.json'), 'utf8'));
  const named = typeof file === 'object' && file !== null && 'version' in file ? file.version : undefined;
  return typeof named === 'string' ? named : 'unknown';
}
