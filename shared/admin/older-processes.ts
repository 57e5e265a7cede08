import type { ProcessKind } from '../redis/running-processes.js';
import type { AdminContext } from './action.js';
import { AdminError } from './admin-error.js';

/** A change that processes of an earlier release would ignore. */
interface IgnoredChange {
  /** Stands after "would ignore". */
  readonly change: string;
  /** The kinds of processes that have to obey it. */
  readonly kinds: readonly ProcessKind[];
}

/**
 * Refuses a change while a process runs that would ignore it. Without Redis, it is not known which ones run.
 * @throws AdminError older_processes
 */
export async function refuseForOlderProcesses(
  { redis }: Pick<AdminContext, 'redis'>,
  { change, kinds }: IgnoredChange,
): Promise<void> {
  // Imported here: commands that fail on their arguments need no Redis.
  const { olderProcesses, ProcessRegister } = await import('../redis/process-register.js');
  const noted = await redis()
    .then((connection) => new ProcessRegister(connection).list())
    .catch(() => []);
  const older = olderProcesses(noted.filter(({ kind }) => kinds.includes(kind)));
  if (older.length === 0) return;
  throw new AdminError(
    'older_processes',
    `Processes of an earlier release are running, which would ignore ${change}: ${older.join(', ')}. Replace ` +
      'them by this release, wait 35 seconds, and try again.',
  );
}
