import { setTimeout as pause } from 'node:timers/promises';

/**
 * Waits for what comes about without an event that a test could await, such as a message on its way between processes:
 * tries `check` again and again until it passes.
 * @param check throws (or rejects) for as long as it is not so
 * @param withinMs after how long what `check` throws is thrown here
 * @param pollMs between two tries
 * @returns what `check` gives
 */
export async function eventually<Result>(
  check: () => Result | Promise<Result>,
  withinMs = 2_000,
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
