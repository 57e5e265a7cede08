import type { Redis } from 'ioredis';
import type { Stoppable } from './lifecycle.js';
import { isRedisRefusal } from './redis-refusal.js';

const askEveryMs = 1_000;
/** Redis that has not answered for this long is as good as away. */
const longestSilenceMs = 3_000;

/**
 * Asks the server behind a connection once a second whether it is there. A connection that was lost without a sign keeps its
 * status: that nothing is answered tells it, and what is asked makes the connection notice (see `connectRedis`), also one
 * on which nothing else is sent.
 */
export class RedisPulse implements Stoppable {
  readonly name = 'redis pulse';
  /** When what is not answered yet was first asked, in the terms of `performance.now()`. */
  private unansweredSinceMs: number | undefined;
  private isAsking = false;
  private readonly timer: NodeJS.Timeout;
  private readonly answered = (): void => {
    this.unansweredSinceMs = undefined;
  };

  constructor(private readonly redis: Redis) {
    this.timer = setInterval(() => void this.ask(), askEveryMs).unref();
    // A new connection is ready when Redis has answered on it.
    redis.on('ready', this.answered);
  }

  /** Why nothing can be asked of Redis now; undefined when it can be. */
  get complaint(): string | undefined {
    if (this.redis.status !== 'ready') return 'no connection to Redis';
    const { unansweredSinceMs = Number.POSITIVE_INFINITY } = this;
    return performance.now() - unansweredSinceMs < longestSilenceMs ? undefined : 'Redis does not answer';
  }

  /** Asks no more; the connection stays. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.redis.off('ready', this.answered);
  }

  private async ask(): Promise<void> {
    if (this.isAsking) return;
    this.isAsking = true;
    this.unansweredSinceMs ??= performance.now();
    try {
      await this.redis.ping();
      this.answered();
    } catch (error) {
      // To be refused is an answer as well.
      if (isRedisRefusal(error)) this.answered();
    }
    this.isAsking = false;
  }
}
