import { Batcher } from '../../shared/async/batcher.js';
import { TimedOut, withTimeout } from '../../shared/async/timeouts.js';
import type { Redis } from '../../shared/redis/connect.js';
import { rateWindowKey } from '../../shared/redis/keys.js';
import { integersReply, luaCommand } from '../../shared/redis/lua-command.js';

const windowUs = 1_000_000;
const maxWaitMs = 2_000;
const numbersOfDecision = 5;

/** One call that asks for a slot. */
export interface RateRequest {
  readonly organisationId: string;
  readonly keyId: string;
  readonly window: 'scoring' | 'reading';
  /** Calls that the key may make in any second. */
  readonly rate: number;
  /** Unique: the same id again is the same slot. */
  readonly slotId: string;
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
  private readonly calls: Batcher<RateRequest, RateDecision>;

  /**
   * @param timeoutMs the longest wait for an answer, from when a slot was asked for; the connection's own limit begins
   * with each command that is sent
   */
  constructor(
    redis: Redis,
    private readonly timeoutMs = maxWaitMs,
  ) {
    const slidingWindow = luaCommand(redis, {
      file: 'api/request/sliding-window.lua',
      reply: decisions,
      atOnce: true,
    });
    this.calls = new Batcher({
      run: (calls, first) =>
        slidingWindow({
          keys: [windowKey(first)],
          args: [first.rate, windowUs, ...calls.map(({ slotId }) => slotId)],
        }),
    });
  }

  /**
   * Takes a slot, if one is free. A refused call uses none; the same call id twice is one slot. A key's calls of one turn
   * of the event loop are sent together, and decided in their order.
   * @param leftMs the longest wait, where that is less than the limit's own
   * @throws what Redis or the connection fails with; TimedOut where neither says anything
   */
  take(call: RateRequest, leftMs = this.timeoutMs): Promise<RateDecision> {
    return withTimeout(
      Math.min(leftMs, this.timeoutMs),
      this.calls.add(`${windowKey(call)} ${call.rate}`, call),
      () => new TimedOut('Redis did not answer in time'),
    );
  }
}

const windowKey = ({ organisationId, keyId, window }: RateRequest): string =>
  rateWindowKey(organisationId, keyId, window);

/** Reads Redis's time in ms, then five numbers of each call, in turn. */
function decisions(raw: unknown): RateDecision[] {
  const [redisNowMs = 0, ...numbers] = integersReply(raw);
  const ofAll: RateDecision[] = [];
  for (let start = 0; start < numbers.length; start += numbersOfDecision) {
    const ofOne = numbers.slice(start, start + numbersOfDecision);
    const [accepted, remaining = 0, retryAfterUs = 0, resetUs = 0, acceptedAtRedisUs = 0] = ofOne;
    ofAll.push({
      accepted: accepted === 1,
      remaining,
      retryAfterMs: Math.ceil(retryAfterUs / 1_000),
      resetMs: Math.ceil(resetUs / 1_000),
      acceptedAtRedisUs,
      redisNowMs,
    });
  }
  return ofAll;
}
