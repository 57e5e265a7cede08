import { readFileSync } from 'node:fs';
import type { ServiceSlot } from '../../servers/slots/service-slot.js';
import type { HistoryLog } from './history-log.js';

const everyMs = 100;
/** Shorter waits are not noted. They add up to almost nothing over a call. */
const minWaitMs = 1;

/**
 * Notes in the history how long runnable gateways waited for a processor. Only Linux reports these times.
 * @returns the interval; clear it to end the watch
 */
export function watchProcessors(gateways: readonly ServiceSlot[], history: HistoryLog): NodeJS.Timeout {
  const before = new Map<number, number>();
  return setInterval(() => {
    for (const [gateway, { pids }] of gateways.entries()) {
      for (const pid of pids) {
        const waitedMs = waitedForProcessorMs(pid);
        if (waitedMs === undefined) continue;
        const lengthMs = waitedMs - (before.get(pid) ?? waitedMs);
        before.set(pid, waitedMs);
        if (lengthMs > minWaitMs) history.add({ kind: 'stall', gateway, atMs: history.at() - everyMs, lengthMs });
      }
    }
  }, everyMs);
}

/**
 * Allowed excess over a time limit because the machine stalled the processes: the time of the stalls, at most the limit
 * itself. Longer stalls must not let a run pass, because such a machine proves nothing.
 * @param stalledMs time in which runnable processes waited for a processor
 * @param limitMs limit on an idle machine
 */
export const toleranceMs = (stalledMs: number, limitMs: number): number => Math.min(stalledMs, limitMs);

/**
 * Time that the main thread of a process has waited for a processor since its start, ms: the second number of
 * /proc/<pid>/schedstat, in ns (https://docs.kernel.org/scheduler/sched-stats.html).
 * @returns undefined if the process has ended or the system is not Linux
 */
export function waitedForProcessorMs(pid: number): number | undefined {
  try {
    const waitedNs = Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]);
    return Number.isFinite(waitedNs) ? waitedNs / 1e6 : undefined;
  } catch {
    return undefined;
  }
}
