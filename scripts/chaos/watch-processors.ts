import { readFileSync } from 'node:fs';
import type { GatewaySlot } from './gateway-slot.js';
import type { HistoryLog } from './history-log.js';

const everyMs = 100;
/** Less is not worth a line; over a call it adds up to hardly anything. */
const leastWaitMs = 1;

/**
 * Notes in the history for how long gateways were ready to run and waited for a processor, which is the machine's doing
 * and not theirs. Where the system does not tell (it is Linux's to tell), nothing is noted.
 * @returns what to clear to end it
 */
export function watchProcessors(gateways: readonly GatewaySlot[], history: HistoryLog): NodeJS.Timeout {
  const before = new Map<number, number>();
  return setInterval(() => {
    for (const [gateway, { pids }] of gateways.entries()) {
      for (const pid of pids) {
        const waitedMs = waitedForProcessorMs(pid);
        if (waitedMs === undefined) continue;
        const lengthMs = waitedMs - (before.get(pid) ?? waitedMs);
        before.set(pid, waitedMs);
        if (lengthMs > leastWaitMs)
          history.add({ kind: 'standstill', gateway, atMs: history.at() - everyMs, lengthMs });
      }
    }
  }, everyMs);
}

/**
 * How much later than its limit something may come because processes stood still: by as long, but no later than twice the
 * limit. A machine that gives them less than half of the time can hold nobody to a limit, and is not to pass for one on which
 * all went well.
 * @param stoodStillMs how long they were kept from running, ms
 * @param limitMs what holds while nothing keeps them, ms
 */
export const forgivenMs = (stoodStillMs: number, limitMs: number): number => Math.min(stoodStillMs, limitMs);

/**
 * How long the main thread of a process has waited for a processor since it began, in ms. The second number of
 * /proc/<pid>/schedstat, in ns: https://docs.kernel.org/scheduler/sched-stats.html. Undefined when the process has gone, or
 * the system does not tell.
 */
export function waitedForProcessorMs(pid: number): number | undefined {
  try {
    const waitedNs = Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]);
    return Number.isFinite(waitedNs) ? waitedNs / 1e6 : undefined;
  } catch {
    return undefined;
  }
}
