import type { Command } from 'commander';
import { ownLevel } from '../../../../shared/process/release.js';
import type { Db } from '../../../../shared/store/connection/connect.js';
import type { SchemaStep } from '../../../../shared/store/schema/schema-steps.js';
import type { CliContext, CommandResult } from '../../context/cli-context.js';
import { CliError } from '../../context/cli-error.js';
import { recordCommand } from '../../context/perform.js';
import { defineCommand, type JsonOption } from '../define-command.js';
import { contract } from './migrate-contract.js';
import { announcedSteps, noting } from './migrate-steps.js';

interface MigrateOptions extends JsonOption {
  readonly dryRun?: boolean;
  readonly again?: boolean;
  readonly contract?: boolean;
}

/** Adds `migrate`. */
export function addMigrateCommand(program: Command, context: CliContext): void {
  defineCommand(program, {
    usage: 'migrate',
    description: 'Change the database as this release needs it, before its processes start',
    examples: ['migrate --dry-run', 'migrate', 'migrate --contract'],
    notes: migrateNotes,
  })
    .option('--dry-run', 'show the steps that are missing, and change nothing')
    .option('--again', 'run all steps once more, for example to create an index that someone dropped')
    .option('--contract', 'after an upgrade, remove what only processes of earlier releases use')
    .action((options: MigrateOptions) =>
      context.present(options, options.contract === true ? contract(context, options) : migrate(context, options)),
    );
}

const migrateNotes = `
Processes of the release before may run meanwhile, and still use the database afterwards.
A run that was killed goes on with the next run. A second run waits for the first.
An empty database needs no such run: the first process that starts prepares it.
--contract is refused while a process of an earlier release runs. Once it has removed
something, going back to such a release needs a restore.`.trim();

async function migrate(context: CliContext, options: MigrateOptions): Promise<CommandResult> {
  const { readSchemaState, schemaProblem } = await import('../../../../shared/store/schema/schema-state.js');
  const { schemaSteps } = await import('../../../../shared/store/schema/schema-steps.js');
  const database = await context.connections.anyDatabase();
  const state = await readSchemaState(database);
  const problem = schemaProblem(state);
  if (problem?.code === 'database_newer')
    throw new CliError(`${problem.problem}. ${problem.remedy}`, { code: problem.code });
  const before = state?.at ?? 0;
  const { pendingContract } = await import('../../../../shared/store/schema/contract-schema.js');
  if (before < ownLevel && pendingContract(state ?? {}).length > 0) throw contractFirst();
  const wanted = schemaSteps.filter(({ level }) => options.again === true || level > before);
  const found = { before, needed: ownLevel };
  if (options.dryRun === true) {
    const { steps, text } = await announcedSteps(database, wanted);
    return { document: { ...found, steps }, text: text ?? upToDate };
  }
  const done = await run(context, options, database);
  const document = { ...found, steps: done.map(({ level, name }) => ({ level, name })) };
  if (done.length === 0) return { document, text: upToDate };
  const steps = done.map(({ name }) => name);
  await recordCommand(context, 'schema.migrate', { before: { at: before }, after: { at: ownLevel, steps } });
  return { document, text: `The database has schema ${ownLevel}, as this release needs.` };
}

const upToDate = `The database has schema ${ownLevel}, as this release needs. There is nothing to do.`;

/** Processes of this release need not know what the release before has left for still earlier ones. */
const contractFirst = (): CliError =>
  new CliError(
    'The last upgrade has not ended: run `npx leadscore migrate --contract`, and then this command again. Until then, ' +
      'going back to the release before it needs no restore',
    { code: 'contract_pending' },
  );

/** Runs the steps, and names on stderr the one that runs. */
async function run(context: CliContext, options: MigrateOptions, database: Db): Promise<readonly SchemaStep[]> {
  const { migrateSchema } = await import('../../../../shared/store/schema/migrate-schema.js');
  return await noting(context, { ...options, last: ownLevel, command: 'npx leadscore migrate' }, (seen) =>
    migrateSchema(database, { again: options.again === true, ...seen }),
  );
}
