import { readFileSync } from 'node:fs';

/*
 * Loaded into a gateway with `--import`. Measures the longest time that the event loop did not serve timers, in CPU time
 * of the main thread: a process that waits for a processor uses none, so other work on the machine does not count.
 */

/** CPU time of this process's main thread, ms. Only Linux reports it; elsewhere, the wall clock. */
export function threadCpuMs(): number {
  if (process.platform !== 'linux') return performance.now();
  return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[0]) / 1e6;
}

const everyMs = 1;

/** Answers each message `probe` with the longest time since the last one. */
export function startProbe(): void {
  let beforeMs = threadCpuMs();
  let maxMs = 0;
  setInterval(() => {
    const nowMs = threadCpuMs();
    maxMs = Math.max(maxMs, nowMs - beforeMs);
    beforeMs = nowMs;
  }, everyMs).unref();
  process.on('message', (message) => {
    if (message !== 'probe') return;
    process.send?.({ kind: 'probe', maxMs });
    maxMs = 0;
  });
}
if (process.env.LOOP_PROBE === '1') startProbe();
