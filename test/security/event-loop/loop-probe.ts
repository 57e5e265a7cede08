import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';
import { threadCpuMs } from '../../support/thread-cpu.js';

/** The value of NODE_OPTIONS with which a gateway starts a probe in each of its threads. */
export const probeOptions = `--import=data:text/javascript,${encodeURIComponent(
  `import { startProbe } from '${import.meta.url}'; startProbe();`,
)}`;

const everyMs = 1;
/** Names the memory that the threads of a gateway share: the longest times, μs, and ticks of the timer. */
const memory = 'event loop probe';
const [ofMainThread, ofLargeCalls, ticksOfLargeCalls, length] = [0, 1, 2, 3];

/**
 * Measures the longest time in which the event loop of a gateway's main thread ran no timer, in CPU time of the thread.
 * Does the same in the thread for large calls. Answers each message `probe` with the longest time since the last one.
 * @public imported by the text of `probeOptions`
 */
export function startProbe(): void {
  if (isMainThread && process.argv[1]?.endsWith(join('api', 'main.js')))
    setEnvironmentData(memory, new Int32Array(new SharedArrayBuffer(length * Int32Array.BYTES_PER_ELEMENT)));
  const shared = getEnvironmentData(memory);
  if (!(shared instanceof Int32Array)) return;
  const index = isMainThread ? ofMainThread : ofLargeCalls;
  let beforeMs = threadCpuMs();
  setInterval(() => {
    const nowMs = threadCpuMs();
    const tookUs = Math.round(1_000 * (nowMs - beforeMs));
    beforeMs = nowMs;
    if (tookUs > Atomics.load(shared, index)) Atomics.store(shared, index, tookUs);
    if (!isMainThread) Atomics.add(shared, ticksOfLargeCalls, 1);
  }, everyMs).unref();
  if (!isMainThread) return;
  process.on('message', (message) => {
    if (message === 'probe') void answer(shared);
  });
}

async function answer(shared: Int32Array): Promise<void> {
  // The iteration in which the thread sent its last answer may go on. The second tick from now comes after it.
  const seen = Atomics.load(shared, ticksOfLargeCalls);
  while (Atomics.load(shared, ticksOfLargeCalls) < seen + 2) await pause(everyMs);
  const longestUs = [ofMainThread, ofLargeCalls].map((index) => Atomics.exchange(shared, index, 0));
  process.send?.({ kind: 'probe', maxMs: Math.max(...longestUs) / 1_000 });
}
