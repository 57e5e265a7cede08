import type { Command } from 'commander';
import { messageOf } from '../../../../shared/contract/errors.js';
import { ownLevel } from '../../../../shared/process/release.js';
import type { Db } from '../../../../shared/store/connection/connect.js';
import type { SchemaStep } from '../../../../shared/store/schema/schema-steps.js';
import type { CliContext, CommandResult } from '../../context/cli-context.js';
import { CliError } from '../../context/cli-error.js';
import { recordCommand } from '../../context/perform.js';
import { countText, readableBytes } from '../../output/readable-numbers.js';
import { defineCommand, type JsonOption } from '../define-command.js';

interface MigrateOptions extends JsonOption {
  readonly dryRun?: boolean;
  readonly again?: boolean;
}

/** Adds `migrate`. */
export function addMigrateCommand(program: Command, context: CliContext): void {
  defineCommand(program, {
    usage: 'migrate',
    description: 'Change the database as this release needs it, before its processes start',
    examples: ['migrate --dry-run', 'migrate'],
    notes: migrateNotes,
  })
    .option('--dry-run', 'show the steps that are missing, and change nothing')
    .option('--again', 'run all steps once more, for example to create an index that someone dropped')
    .action((options: MigrateOptions) => context.present(options, migrate(context, options)));
}

const migrateNotes = `
Processes of the release before may run meanwhile, and still use the database afterwards.
A run that was killed goes on with the next run. A second run waits for the first.
An empty database needs no such run: the first process that starts prepares it.`.trim();

async function migrate(context: CliContext, options: MigrateOptions): Promise<CommandResult> {
  const { readSchemaState, schemaProblem } = await import('../../../../shared/store/schema/schema-state.js');
  const { schemaSteps } = await import('../../../../shared/store/schema/schema-steps.js');
  const database = await context.connections.anyDatabase();
  const state = await readSchemaState(database);
  const problem = schemaProblem(state);
  if (problem?.code === 'database_newer')
    throw new CliError(`${problem.problem}. ${problem.remedy}`, { code: problem.code });
  const before = state?.at ?? 0;
  const wanted = schemaSteps.filter(({ level }) => options.again === true || level > before);
  const found = { before, needed: ownLevel };
  if (options.dryRun === true) return await announced(database, wanted, found);
  const done = await run(context, options, database);
  const document = { ...found, steps: done.map(({ level, name }) => ({ level, name })) };
  if (done.length === 0) return { document, text: upToDate };
  const steps = done.map(({ name }) => name);
  await recordCommand(context, 'schema.migrate', { before: { at: before }, after: { at: ownLevel, steps } });
  return { document, text: `The database has schema ${ownLevel}, as this release needs.` };
}

const upToDate = `The database has schema ${ownLevel}, as this release needs. There is nothing to do.`;

/** The steps that a run would make, and how much each may read. */
async function announced(
  database: Db,
  steps: readonly SchemaStep[],
  found: { readonly before: number; readonly needed: number },
): Promise<CommandResult> {
  const sizes = await Promise.all(steps.map((step) => sizeOf(database, step.reads)));
  const shown = steps.map(({ level, name }, index) => ({ level, name, ...(sizes[index] ?? noSize) }));
  const lines = shown.map(
    ({ level, name, documents, bytes }) =>
      `Step ${level}: ${name}. It reads at most ${countText(documents)} documents of ${readableBytes(bytes)}.`,
  );
  const text = shown.length === 0 ? upToDate : [...lines, 'Nothing was changed.'].join('\n');
  return { document: { ...found, steps: shown }, text };
}

const noSize = { documents: 0, bytes: 0 };

async function sizeOf(database: Db, collections: readonly string[]): Promise<typeof noSize> {
  const existing = new Set((await database.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name));
  const total = { ...noSize };
  for (const name of collections.filter((each) => existing.has(each))) {
    const stats = { $collStats: { storageStats: { scale: 1 } } };
    for (const { storageStats } of await database.collection(name).aggregate([stats]).toArray()) {
      total.documents += Number(storageStats.count);
      total.bytes += Number(storageStats.size);
    }
  }
  return total;
}

const remindEveryMs = 10_000;

/** Runs the steps, and names on stderr the one that runs. */
async function run(
  { stderr }: CliContext,
  { again, json }: MigrateOptions,
  database: Db,
): Promise<readonly SchemaStep[]> {
  const { migrateSchema } = await import('../../../../shared/store/schema/migrate-schema.js');
  const { missingRights } = await import('../../../../shared/store/connection/connect.js');
  const say = (line: string): void => {
    if (json !== true) stderr.write(`${line}\n`);
  };
  const startMs = performance.now();
  const secondsText = () => `${Math.round((performance.now() - startMs) / 1_000)} s`;
  let now: string | undefined;
  const reminder = setInterval(() => {
    if (now !== undefined) say(`${now}: runs since ${secondsText()}.`);
  }, remindEveryMs);
  try {
    return await migrateSchema(database, {
      again: again === true,
      onStep: ({ level, name }) => {
        now = `Step ${level} of ${ownLevel}`;
        say(`${now}: ${name}.`);
      },
      onWait: ({ by, step }) => {
        say(`Waits for another run (${by})${step === undefined ? '' : `, which is at: ${step}`}.`);
      },
    });
  } catch (cause) {
    const why = missingRights(cause) ?? messageOf(cause);
    throw new CliError(
      `The database was not changed whole: ${why}. Mend that, and run \`npx leadscore migrate\` again.`,
      {
        code: 'migrate_failed',
        cause,
      },
    );
  } finally {
    clearInterval(reminder);
  }
}
