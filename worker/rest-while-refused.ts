import type { Worker } from 'bullmq';
import { isRedisRefusal } from '../shared/redis-refusal.js';

const restMs = 250;

/**
 * Lets a BullMQ worker rest for a moment when Redis refuses a command, as a full one does. By itself it would ask for its
 * next job again at once, thousands of times a second, and say so in the log each time.
 */
export function restWhileRefused<Data>(worker: Worker<Data>): void {
  worker.on('error', (error) => {
    if (!isRedisRefusal(error) || worker.isPaused()) return;
    void worker.pause(true);
    setTimeout(() => {
      if (worker.closing === undefined) void worker.resume();
    }, restMs);
  });
}
