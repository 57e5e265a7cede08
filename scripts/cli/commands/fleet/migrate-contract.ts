import { ownLevel } from '../../../../shared/process/release.js';
import { isRedisRefusal, type Redis } from '../../../../shared/redis/connect.js';
import { olderProcesses, ProcessRegister } from '../../../../shared/redis/process-register.js';
import { processKinds, processNames, runningProcesses } from '../../../../shared/redis/running-processes.js';
import type { CliContext, CommandResult } from '../../context/cli-context.js';
import { CliError, usageError } from '../../context/cli-error.js';
import { recordCommand } from '../../context/perform.js';
import { countText } from '../../output/readable-numbers.js';
import type { JsonOption } from '../define-command.js';
import { announcedSteps, noting } from './migrate-steps.js';

interface ContractOptions extends JsonOption {
  readonly dryRun?: boolean;
  readonly again?: boolean;
}

/** Removes what only processes of earlier releases use: from the database by its steps, from Redis old schedules. */
export async function contract(context: CliContext, options: ContractOptions): Promise<CommandResult> {
  if (options.again === true) throw usageError('Give --again or --contract, not both');
  const { readSchemaState, schemaProblem } = await import('../../../../shared/store/schema/schema-state.js');
  const { contractSchema, pendingContract } = await import('../../../../shared/store/schema/contract-schema.js');
  const database = await context.connections.anyDatabase();
  const state = await readSchemaState(database);
  const problem = schemaProblem(state);
  if (problem?.code === 'database_newer')
    throw new CliError(`${problem.problem}. ${problem.remedy}`, { code: problem.code });
  const usableFrom = state?.usable_from ?? 0;
  // Before `migrate`, processes of the release before go on: they are no older ones of an earlier upgrade.
  const level = Math.min(ownLevel, state?.at ?? ownLevel);
  const pending = pendingContract(state ?? {});
  if (options.dryRun === true) {
    const { steps, text = nothing } = await announcedSteps(database, pending);
    return { document: { usable_from: usableFrom, steps }, text };
  }
  const redis = await context.connections.redis();
  await refuseOlder(redis, level);
  const last = pending.at(-1)?.level ?? 0;
  const done = await noting(context, { ...options, last, command: 'npx leadscore migrate --contract' }, (seen) =>
    contractSchema(database, seen),
  );
  const { removeOldSchedules } = await import('../../../../shared/process/old-schedules.js');
  const removed = await removeOldSchedules(redis, level);
  const steps = done.map(({ level, name }) => ({ level, name }));
  const document = { usable_from: Math.max(usableFrom, last), steps, schedules_removed: removed };
  if (done.length > 0 || removed > 0) {
    const after = {
      usable_from: document.usable_from,
      steps: steps.map(({ name }) => name),
      schedules_removed: removed,
    };
    await recordCommand(context, 'schema.contract', { before: { usable_from: usableFrom }, after }, database);
  }
  const schedules = removed === 0 ? '' : ` Schedules of jobs that exist no longer were removed: ${countText(removed)}.`;
  const text = done.length === 0 ? nothing : `Only releases with schema ${last} or later can use the database now.`;
  return { document, text: `${text}${schedules}` };
}

const nothing = 'The database has nothing that only earlier releases use.';

/**
 * Refuses while a process of a lower level runs, or one that does not say its level.
 * @throws CliError that names them
 */
async function refuseOlder(redis: Redis, level: number): Promise<void> {
  const noted = await new ProcessRegister(redis).list();
  const older = olderProcesses(noted, level);
  if (older.length > 0) throw olderRunning(older.join(', '), level);
  // Where Redis forbids CLIENT LIST, only the notes tell.
  const running = await runningProcesses(redis).catch((error: unknown) => {
    if (!isRedisRefusal(error)) throw error;
    return undefined;
  });
  const silent = processKinds.flatMap((kind) => {
    const count = (running?.[kind] ?? 0) - noted.filter((each) => each.kind === kind).length;
    return count > 0
      ? [`${count} ${processNames[kind][count === 1 ? 0 : 1]} that ${count === 1 ? 'notes' : 'note'} no release`]
      : [];
  });
  if (silent.length > 0) throw olderRunning(silent.join(', '), level);
}

const olderRunning = (which: string, level: number): CliError =>
  new CliError(
    `Processes of an earlier release are running: ${which}. Replace them by one with schema ${level}, wait 35 ` +
      'seconds, and run the command again',
    { code: 'older_processes' },
  );
