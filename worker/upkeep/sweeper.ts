import { repeatEvery } from '../../shared/async/repeat.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import type { Logger } from '../../shared/process/logger.js';
import type { Redis } from '../../shared/redis/connect.js';
import { sweepTurnKey } from '../../shared/redis/keys.js';
import { clearStuckLock, Locks } from '../../shared/redis/lock.js';

export interface SweeperOptions {
  /** A connection for commands. */
  readonly redis: Redis;
  readonly everyMs: number;
  /** Safe to run concurrently, and to interrupt anywhere. */
  readonly sweep: () => Promise<void>;
  readonly logger: Logger;
}

const lockShare = 7 / 8; // of the interval: timers are late, and the lock must have expired before the next sweep

/**
 * Sweeps now and every `everyMs`, by a timer. A lock in Redis lets one pool sweep per interval. The sweep is not a
 * BullMQ job like the rest of upkeep, because it repairs the rest. A Redis that was out of memory or emptied may leave
 * a queue stuck for up to a minute.
 */
export function startSweeper({ redis, everyMs, sweep, logger }: SweeperOptions): Stoppable {
  const locks = new Locks(redis);
  /** True also when Redis does not answer, as while it is out of memory: then every pool sweeps. */
  const takeLock = async (): Promise<boolean> => {
    const lockMs = Math.ceil(lockShare * everyMs);
    await clearStuckLock(redis, sweepTurnKey, lockMs).catch(() => undefined);
    return await locks.take(sweepTurnKey, { ttlMs: lockMs }).then(
      (lock) => lock !== undefined,
      () => true,
    );
  };
  const sweepInTurn = async (): Promise<void> => {
    try {
      if (await takeLock()) await sweep();
    } catch (error) {
      logger.warn({ error }, 'sweep failed; retrying');
    }
  };
  return { name: 'sweeper', ...repeatEvery(everyMs, sweepInTurn) };
}
