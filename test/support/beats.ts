import { threadCpuMs } from './thread-cpu.js';

/**
 * Measures a duration in beats of a timer while `work` runs. A process without a CPU counts at most one beat in that
 * time. A limit in beats therefore does not depend on the load of the machine.
 */
export async function beatsDuring(work: () => Promise<unknown>, everyMs = 50): Promise<number> {
  let beats = 0;
  const timer = setInterval(() => {
    beats += 1;
  }, everyMs);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return beats;
}

/** The iterations of the event loop that `work` takes. Work that waits for nothing takes none. */
export async function iterationsDuring(work: () => Promise<unknown>): Promise<number> {
  let iterations = 0;
  let isOver = false;
  // Waits before `work` does, so an iteration is counted before the step of `work` that it runs.
  const count = (): void => {
    iterations += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  try {
    await work();
  } finally {
    isOver = true;
  }
  return iterations;
}

/**
 * The CPU time of this thread, in ms, in the longest iteration of the event loop while `work` runs. An iteration
 * in which the heap of the whole test process is collected is not the work's own. It is another one in each attempt, so
 * the shortest of the longest iterations counts.
 * @param work is repeated, up to three times, until its longest iteration is below `limitMs`
 */
export const longestIterationMs = (work: () => Promise<unknown>, limitMs: number): Promise<number> =>
  bestMs(limitMs, () => measureIterations(work));

/**
 * The shortest of up to three measurements, ms. Other work on the machine lengthens one measurement, and rarely three.
 * @param measure returns ms; it is repeated until it returns less than `limitMs`
 */
export async function bestMs(limitMs: number, measure: () => number | Promise<number>, attempts = 3): Promise<number> {
  const ms = await measure();
  if (ms < limitMs || attempts <= 1) return ms;
  return Math.min(ms, await bestMs(limitMs, measure, attempts - 1));
}

/** The duration of `work`, ms. */
export async function durationMs(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

async function measureIterations(work: () => Promise<unknown>): Promise<number> {
  let longestMs = 0;
  let beforeMs = threadCpuMs();
  let isOver = false;
  const iteration = (): void => {
    const nowMs = threadCpuMs();
    longestMs = Math.max(longestMs, nowMs - beforeMs);
    beforeMs = nowMs;
    if (!isOver) setImmediate(iteration);
  };
  iteration();
  try {
    await work();
  } finally {
    isOver = true;
  }
  return longestMs;
}
