import { MongoServerError } from 'mongodb';
import { ownRelease } from '../../process/release.js';
import { type Db, duplicateKey } from '../connection/connect.js';
import { contractSteps } from './contract-schema.js';
import { type LeasedRun, type RunOptions, underLease } from './schema-lease.js';
import { isEmptyDatabase, readSchemaState, type SchemaState, schemaStates } from './schema-state.js';
import { type SchemaStep, schemaSteps } from './schema-steps.js';

export interface MigrateOptions extends RunOptions {
  /** Whether the database was empty a moment ago. Another process may have made its first collection since. */
  readonly isNew?: boolean;
  /** Runs all steps once more, for example to create an index that someone dropped. */
  readonly again?: boolean;
  /** Called when a step begins. */
  readonly onStep?: (step: SchemaStep) => void;
  /** For tests. */
  readonly steps?: readonly SchemaStep[];
}

const majority = { writeConcern: { w: 'majority' } } as const;

/**
 * Brings a database to the level of this release: runs each step that it lacks. Only one run at a time works; another
 * one waits for it. A run that was killed may be begun again: it repeats the step that it had not ended.
 * @returns the steps that this run has ended
 * @throws the driver's error; LeaseLost
 */
export async function migrateSchema(database: Db, options: MigrateOptions = {}): Promise<readonly SchemaStep[]> {
  const { again = false, steps = schemaSteps, onStep } = options;
  await createState(database, options.isNew);
  const work = async (run: LeasedRun): Promise<readonly SchemaStep[]> => {
    const done: SchemaStep[] = [];
    // Another run may have ended between the last read and the lease.
    const from = again ? 0 : ((await readSchemaState(database))?.at ?? 0);
    for (const step of steps.filter(({ level }) => level > from)) {
      onStep?.(step);
      await run.change({ $set: { 'running.step': step.name } });
      await step.run(database);
      run.check();
      await run.change({ $max: { at: step.level }, $set: { release: ownRelease() } });
      done.push(step);
    }
    await run.change({ $unset: { is_new: 1 } });
    return done;
  };
  const isDone = (state: SchemaState | undefined): boolean =>
    state?.is_new !== true && !again && steps.every(({ level }) => level <= (state?.at ?? 0));
  return (await underLease(database, isDone, work, options)) ?? [];
}

/** Writes the number 0 unless there is one. A new database has nothing that a contract step would remove. */
async function createState(database: Db, wasEmpty = false): Promise<void> {
  if ((await readSchemaState(database)) !== undefined) return;
  const isNew = wasEmpty || (await isEmptyDatabase(database)) ? { is_new: true as const } : {};
  const contracted = 'is_new' in isNew ? contractSteps.at(-1)?.level : undefined;
  const usable = { usable_from: contracted ?? 0, ...(contracted === undefined ? {} : { contracted }) };
  const first = { _id: 'schema' as const, at: 0, ...usable, release: ownRelease(), ...isNew };
  await schemaStates(database)
    .insertOne(first, majority)
    .catch((error: unknown) => {
      // Another process was faster.
      if (!(error instanceof MongoServerError && error.code === duplicateKey)) throw error;
    });
}
