import { withTimeout } from '../../shared/async/timeouts.js';
import { messageOf } from '../../shared/contract/errors.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import type { Logger } from '../../shared/process/logger.js';
import type { Redis } from '../../shared/redis/connect.js';
import { sweepTurnKey } from '../../shared/redis/keys.js';
import { clearStuckLock } from '../lanes/stalled-jobs.js';

export interface SweeperOptions {
  /** A connection for commands. */
  readonly redis: Redis;
  readonly everyMs: number;
  /** Ends what nobody ended; any number may run at once. */
  readonly sweep: () => Promise<void>;
  readonly logger: Logger;
}

/** A turn is over a little before the next one is due: timers do not come to the millisecond. */
const turnShare = 7 / 8;
const maxStopMs = 1_000;

/**
 * Sweeps at once and every `everyMs`, by a timer of this process; of several pools one at a time as a rule. It is not a
 * job of a queue, as the rest of upkeep is: a Redis that was full or emptied leaves a queue with a job that nobody ends for
 * up to a minute, and the sweep is what mends the rest.
 */
export function startSweeper({ redis, everyMs, sweep, logger }: SweeperOptions): Stoppable {
  /** Without an answer, as while Redis is full, every pool sweeps. */
  const isOurTurn = async (): Promise<boolean> => {
    const turnMs = Math.ceil(turnShare * everyMs);
    await clearStuckLock(redis, sweepTurnKey, turnMs).catch(() => undefined);
    const taken = redis.set(sweepTurnKey, process.pid, 'PX', turnMs, 'NX');
    return (await taken.catch(() => 'OK')) === 'OK';
  };
  const sweepInTurn = async (): Promise<void> => {
    try {
      if (await isOurTurn()) await sweep();
    } catch (error) {
      logger.warn({ error: messageOf(error) }, 'leases could not be swept');
    }
  };
  let underWay: Promise<void> | undefined;
  const begin = () => {
    underWay ??= sweepInTurn().finally(() => {
      underWay = undefined;
    });
  };
  begin();
  const timer = setInterval(begin, everyMs);
  return {
    name: 'sweeper',
    stop: async () => {
      clearInterval(timer);
      // A sweep may be broken off anywhere.
      await withTimeout(maxStopMs, underWay ?? Promise.resolve()).catch(() => undefined);
    },
  };
}
