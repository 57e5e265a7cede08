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

/** The turns of the event loop that `work` takes. Work that waits for nothing takes none. */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  // Waits before `work` does, so a turn is counted before the step of `work` that it runs.
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  try {
    await work();
  } finally {
    isOver = true;
  }
  return turns;
}

/**
 * The CPU time of this thread, in ms, in the longest turn of the event loop while `work` runs. A turn
 * in which the heap of the whole test process is collected is not the work's own. It is another one in each attempt, so
 * the shortest of the longest turns counts.
 * @param work is repeated, up to three times, until its longest turn is below `limitMs`
 */
export const longestTurnMs = (work: () => Promise<unknown>, limitMs: number): Promise<number> =>
  bestMs(limitMs, () => measureTurns(work));

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

async function measureTurns(work: () => Promise<unknown>): Promise<number> {
  let longestMs = 0;
  let beforeMs = threadCpuMs();
  let isOver = false;
  const turn = (): void => {
    const nowMs = threadCpuMs();
    longestMs = Math.max(longestMs, nowMs - beforeMs);
    beforeMs = nowMs;
    if (!isOver) setImmediate(turn);
  };
  turn();
  try {
    await work();
  } finally {
    isOver = true;
  }
  return longestMs;
}
