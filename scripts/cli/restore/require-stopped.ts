import { isRedisRefusal, type Redis } from '../../../shared/redis/connect.js';
import { type ProcessKind, runningProcesses } from '../../../shared/redis/running-processes.js';
import { CliError } from '../context/cli-error.js';

const names = {
  gateway: ['gateway', 'gateways'],
  pool: ['worker pool', 'worker pools'],
  bulk: ['runner', 'runners'],
  console: ['console', 'consoles'],
} as const satisfies Record<ProcessKind, readonly [one: string, more: string]>;
const kinds = Object.keys(names) as ProcessKind[];

const remedy = 'Stop all gateways, pools, runners and consoles, and run the command again; or add --yes';

/**
 * Refuses to work beside running processes: they put counters and scores from before the restore back into Redis.
 * @throws CliError that names how many there are of each kind, or says that Redis does not tell
 */
export async function requireStopped(redis: Redis): Promise<void> {
  const running = await runningProcesses(redis).catch((cause: unknown) => {
    if (!isRedisRefusal(cause)) throw cause;
    const problem = `Redis does not tell which processes are running, because it refused CLIENT LIST (${cause.message})`;
    throw new CliError(`${problem}. ${remedy} once they are stopped`, { code: 'unknown_processes', cause });
  });
  const found = kinds.filter((kind) => running[kind] > 0);
  if (found.length === 0) return;
  const counted = found.map((kind) => `${running[kind]} ${names[kind][running[kind] === 1 ? 0 : 1]}`);
  throw new CliError(
    `Still running on this Redis: ${counted.join(', ')}. They may put back what this command drops. ${remedy}`,
    { code: 'still_running', details: { running } },
  );
}
