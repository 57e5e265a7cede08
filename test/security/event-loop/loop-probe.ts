import { join } from 'node:path';
import { threadCpuMs } from '../../support/thread-cpu.js';

/** The value of NODE_OPTIONS with which a gateway starts a probe. */
export const probeOptions = `--import=data:text/javascript,${encodeURIComponent(
  `import { startProbe } from '${import.meta.url}'; startProbe();`,
)}`;

const everyMs = 1;

/**
 * Measures the longest time in which the event loop of a gateway ran no timer, in CPU time of its main thread. Answers
 * each message `probe` with the longest time since the last one.
 * @public imported by the text of `probeOptions`
 */
export function startProbe(): void {
  if (!process.argv[1]?.endsWith(join('api', 'main.js'))) return;
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
