import { once } from 'node:events';
import type { Worker } from 'bullmq';
import type { Redis } from 'ioredis';

/**
 * Lets a BullMQ worker take no more jobs, and end those that it has in hand. Without Redis there is nothing to wait for: they
 * are done again elsewhere.
 * @param connection the worker's own
 */
export async function closeWorker(worker: Worker, connection: Redis): Promise<void> {
  if (connection.status !== 'ready') return await worker.close(true);
  const closed = new AbortController();
  // Redis may go meanwhile, or have gone unnoticed.
  const lost = once(connection, 'close', { signal: closed.signal }).catch(() => undefined);
  await Promise.race([worker.close(), lost]);
  closed.abort();
}
