import { setImmediate as nextIteration, setTimeout as pause } from 'node:timers/promises';

/** Lateness of a Node timer, ms. An exact loop spends the rest of the time in iterations of the event loop. */
const timerSlackMs = 2;

/** Callers side by side. Each calls again when its last call has ended. `call` gets the number of earlier calls. */
export async function closedLoop(
  callers: number,
  isOver: () => boolean,
  call: (index: number) => Promise<unknown>,
): Promise<void> {
  let made = 0;
  const caller = async (): Promise<void> => {
    while (!isOver()) await call(made++);
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

export interface OpenLoop {
  /** Time from one call to the next, ms. */
  readonly gapMs: () => number;
  /** Asked before the wait for a call, and after it. `dueMs` is its planned start by `performance.now()`. */
  readonly isOver: (dueMs: number) => boolean;
  /** More calls in flight end the loop; their latencies would only grow. By default without limit. */
  readonly maxInFlight?: number;
  /** Keeps the event loop busy for up to 2 ms before each call, so that no call is late. */
  readonly isExact?: boolean;
}

/**
 * Makes calls at their times, whether or not earlier ones have ended. Resolves when all have ended.
 * @param call `dueMs` as for `isOver`
 * @throws the error of the first call that rejects, which ends the loop
 */
export async function openLoop(
  { gapMs, isOver, maxInFlight = Number.POSITIVE_INFINITY, isExact = false }: OpenLoop,
  call: (dueMs: number) => Promise<unknown>,
): Promise<void> {
  const inFlight = new Set<Promise<void>>();
  const failures: unknown[] = [];
  for (let dueMs = performance.now(); !isOver(dueMs); dueMs += gapMs()) {
    const sleepMs = Math.floor(dueMs - performance.now() - (isExact ? timerSlackMs : 0));
    if (sleepMs > 0) await pause(sleepMs);
    while (isExact && performance.now() < dueMs && !isOver(dueMs)) await nextIteration();
    if (isOver(dueMs) || failures.length > 0) break;
    if (inFlight.size >= maxInFlight) throw new Error(`the service is too slow: ${inFlight.size} calls are in flight`);
    const calling = call(dueMs)
      .then(() => undefined)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => inFlight.delete(calling));
    inFlight.add(calling);
    // Late calls would otherwise go out in one burst, before the process reads any answer or the end of the loop.
    await nextIteration();
  }
  await Promise.all(inFlight);
  if (failures.length > 0) throw failures[0];
}
