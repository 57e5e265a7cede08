import { integersReply, type LuaCommand, luaCommand } from '../../shared/lua-command.js';
import type { Redis } from '../../shared/redis.js';
import { rateWindowKey } from '../../shared/redis-keys.js';
import { withinTime } from '../../shared/within-time.js';

const windowUs = 1_000_000;
const longestWaitMs = 2_000;

/** One call that asks for a slot. */
export interface RateRequest {
  readonly organisationId: string;
  readonly keyId: string;
  readonly window: 'scoring' | 'reading';
  /** Calls that the key may make in any second. */
  readonly rate: number;
  readonly callId: string;
}

export interface RateDecision {
  readonly accepted: boolean;
  /** Slots that are free after this call. */
  readonly remaining: number;
  /** When refused, after how many ms a call would pass; else 0. */
  readonly retryAfterMs: number;
  /** After how many ms the whole rate is free again. */
  readonly resetMs: number;
  /** The Redis time in microseconds at which the call was accepted; 0 when it was refused. */
  readonly acceptedAtRedisUs: number;
  /** What Redis's clock says, to compute the call's deadline in Redis time. */
  readonly redisNowMs: number;
}

/** At most `rate` accepted calls of a key in any sliding second, across all gateways, by Redis time. */
export class RateLimit {
  readonly #slidingWindow: LuaCommand<number[]>;

  /**
   * @param timeoutMs the longest wait for an answer. The connection's own limit for a command is not enough: where it
   * writes commands together, one that waits for those before it has not begun to count.
   */
  constructor(
    redis: Redis,
    private readonly timeoutMs = longestWaitMs,
  ) {
    this.#slidingWindow = luaCommand(redis, {
      file: 'api/rate-limit/sliding-window.lua',
      reply: integersReply,
    });
  }

  /**
   * Takes a slot, if one is free. A refused call uses none; the same call id twice is one slot.
   * @throws what Redis or the connection fails with; OutOfTime
   */
  async take({ organisationId, keyId, window, rate, callId }: RateRequest): Promise<RateDecision> {
    const [accepted, remaining = 0, retryAfterUs = 0, resetUs = 0, acceptedAtRedisUs = 0, redisNowMs = 0] =
      await withinTime(
        this.timeoutMs,
        this.#slidingWindow({
          keys: [rateWindowKey(organisationId, keyId, window)],
          args: [callId, rate, windowUs],
        }),
      );
    return {
      accepted: accepted === 1,
      remaining,
      retryAfterMs: Math.ceil(retryAfterUs / 1_000),
      resetMs: Math.ceil(resetUs / 1_000),
      acceptedAtRedisUs,
      redisNowMs,
    };
  }
}
