import { ownRelease } from '../../process/release.js';
import type { Db } from '../connection/connect.js';
import { type LeasedRun, type RunOptions, underLease } from './schema-lease.js';
import { readSchemaState, type SchemaState } from './schema-state.js';

/** A removal of what only processes of a lower level use. They cannot use the database after it. */
export interface ContractStep {
  /** The least level of a process that can use the database afterwards. Its expand step comes before. */
  readonly level: number;
  /** Stands after "Step 1 of 2:". */
  readonly name: string;
  /** Collections that it may read whole. */
  readonly reads: readonly string[];
  /** Idempotent, also after it was killed, and when two runs overlap. */
  readonly run: (database: Db) => Promise<void>;
}

/** All contract steps in the order of their levels, also those of earlier releases. */
export const contractSteps: readonly ContractStep[] = [];

/** The contract steps that a database has not gone through: those for steps that it has. */
export const pendingContract = (
  { at = 0, contracted = 0 }: Partial<Pick<SchemaState, 'at' | 'contracted'>>,
  steps: readonly ContractStep[] = contractSteps,
): readonly ContractStep[] => steps.filter(({ level }) => level > contracted && level <= at);

/**
 * Runs the contract steps that a database lacks. Only one run at a time works, as in `migrateSchema`. The caller makes
 * sure that no process of a lower level runs.
 * @returns the steps that this run has ended
 * @throws the driver's error; LeaseLost
 */
export async function contractSchema(
  database: Db,
  options: RunOptions & {
    readonly steps?: readonly ContractStep[];
    readonly onStep?: (step: ContractStep) => void;
  } = {},
): Promise<readonly ContractStep[]> {
  const { steps = contractSteps, onStep } = options;
  const work = async (run: LeasedRun): Promise<readonly ContractStep[]> => {
    const done: ContractStep[] = [];
    for (const step of pendingContract((await readSchemaState(database)) ?? {}, steps)) {
      onStep?.(step);
      // First: a process of a lower level that starts from now on would meet what is half removed.
      await run.change({ $max: { usable_from: step.level }, $set: { 'running.step': step.name } });
      await step.run(database);
      run.check();
      await run.change({ $max: { contracted: step.level }, $set: { release: ownRelease() } });
      done.push(step);
    }
    return done;
  };
  const isDone = (state: SchemaState | undefined): boolean => pendingContract(state ?? {}, steps).length === 0;
  return (await underLease(database, isDone, work, options)) ?? [];
}
