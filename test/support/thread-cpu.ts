import { readFileSync } from 'node:fs';

const statistics = '/proc/thread-self/schedstat';

/**
 * CPU time of this thread, ms. A thread that waits for a processor uses none, so other work on the machine hardly
 * changes it. The threads of the garbage collector and of the compiler do not count, because they hold up no iteration.
 * One collection of a large heap can add 50 ms to the CPU time of the process. Only Linux reports the thread alone;
 * elsewhere this is the CPU time of all threads.
 */
export const threadCpuMs: () => number = statisticsExist()
  ? () => Number(readFileSync(statistics, 'utf8').split(' ')[0]) / 1e6
  : () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1_000;
    };

function statisticsExist(): boolean {
  try {
    return Number(readFileSync(statistics, 'utf8').split(' ')[0]) > 0;
  } catch {
    return false;
  }
}

/** The CPU time of `work` on this thread, ms. */
export function threadCpuMsOf(work: () => void): number {
  const beforeMs = threadCpuMs();
  work();
  return threadCpuMs() - beforeMs;
}
