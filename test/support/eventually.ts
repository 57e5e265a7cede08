import { setTimeout as pause } from 'node:timers/promises';

/**
 * Polls until `check` passes, for results without an event, such as a message between processes.
 * @returns the result of `check`
 * @param withinMs more than a machine withholds the processor from a process; a test waits so long only before it fails
 * @throws the last error of `check` after `withinMs`
 */
export async function eventually<Result>(
  check: () => Result | Promise<Result>,
  withinMs = 10_000,
  pollMs = 5,
): Promise<Result> {
  const endMs = performance.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > endMs) throw error;
      await pause(pollMs);
    }
  }
}
