import { existsSync, readdirSync } from 'node:fs';
import { setPriority } from 'node:os';

/** The lowest priority. The kernel gives a process of normal priority some 68 times as much of a busy processor. */
export const lowNiceness = 19;
/**
 * The priority of batches. The kernel gives a process of normal priority some nine times as much of a busy processor.
 */
export const batchNiceness = 10;

/**
 * Lowers the priority of this process, so that the kernel prefers other work. Linux has a priority for each thread. A
 * thread inherits that of the thread that starts it; those that run already, for V8 and libuv, are lowered one by one.
 */
export function lowerPriority(niceness = lowNiceness): void {
  setPriority(niceness);
  const threads = '/proc/self/task';
  if (!existsSync(threads)) return;
  for (const thread of readdirSync(threads)) {
    try {
      setPriority(Number(thread), niceness);
    } catch {
      // The thread has ended.
    }
  }
}
