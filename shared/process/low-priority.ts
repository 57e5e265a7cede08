import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/** The lowest priority. The kernel gives a process of normal priority some 68 times as much of a busy processor. */
export const lowNiceness = 19;
/**
 * The priority of batches. The kernel gives a process of normal priority some nine times as much of a busy processor.
 */
export const batchNiceness = 10;
/**
 * The priority of the gateway's thread for large calls. The kernel gives a thread of normal priority some three times
 * as much of a busy processor. With 10, batches beside singles were a tenth slower.
 */
export const largeCallsNiceness = 5;

/**
 * Lowers the priority of this process, so that the kernel prefers other work. Linux has a priority for each thread. A
 * thread inherits that of the thread that starts it; those that run already, for V8 and libuv, are lowered one by one.
 */
export function lowerPriority(niceness = lowNiceness): void {
  lower(0, niceness);
  const threads = '/proc/self/task';
  if (!existsSync(threads)) return;
  for (const thread of readdirSync(threads)) {
    try {
      lower(Number(thread), niceness);
    } catch {
      // The thread has ended.
    }
  }
}

/**
 * Lowers the priority of the calling thread alone. Without effect where threads have no priority of their own: only
 * Linux names the thread, as `<process>/task/<thread>`.
 */
export function lowerThreadPriority(niceness: number): void {
  const self = '/proc/thread-self';
  if (existsSync(self)) lower(Number(readlinkSync(self).split('/').at(-1)), niceness);
}

/** Only root may raise a priority that `nice` has lowered further: leaves it as it is. */
function lower(thread: number, niceness: number): void {
  if (getPriority(thread) < niceness) setPriority(thread, niceness);
}
