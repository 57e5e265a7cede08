import { availableParallelism } from 'node:os';
import { childProcessIds, machineBusyMs, readUsage } from '../../servers/process-usage.js';
import type { AttackService } from './attack-service.js';

/**
 * Begins to measure the share of the machine that processes outside the run use.
 * @param pids processes of the run beside those of the service
 * @returns a function that gives the share since the beginning, 0 to 1; 0 if a process of the service ended meanwhile
 */
export function watchOtherWork({ cluster }: AttackService, pids: readonly number[]): () => number {
  const othersMs = (): number => {
    const { pid: pool } = cluster.pool;
    const servers = [cluster.server('redis').pid, cluster.server('mongo').pid];
    const gateways = cluster.gateways.flatMap((slot) => slot.pids);
    const own = [process.pid, ...pids, ...servers, ...gateways, pool, ...childProcessIds(pool)];
    return machineBusyMs() - readUsage({ own }).own.cpuMs;
  };
  const read = (): number => {
    try {
      return othersMs();
    } catch {
      return Number.NaN;
    }
  };
  const [beganMs, before] = [performance.now(), read()];
  return () => {
    const share = (read() - before) / (availableParallelism() * (performance.now() - beganMs));
    return Number.isNaN(share) ? 0 : Math.max(0, share);
  };
}
