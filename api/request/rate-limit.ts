import { Batcher } from '../../shared/async/batcher.js';
import { TimedOut, withTimeout } from '../../shared/async/timeouts.js';
import type { Redis } from '../../shared/redis/connect.js';
import { type RateWindow, rateWindowKey } from '../../shared/redis/keys.js';
import { integersReply, luaCommand } from '../../shared/redis/lua-command.js';

const windowUs = 1_000_000;
const maxWaitMs = 2_000;
const numbersPerCall = 5;

/** One call that asks for a slot. */
export interface RateRequest {
  readonly organisationId: string;
  readonly keyId: string;
  readonly window: RateWindow;
  /** Calls that the key may make in any second. */
  readonly rate: number;
  /** Unique. The same id again takes the same slot. */
  readonly slotId: string;
}

export interface RateDecision {
  readonly accepted: boolean;
  /** Slots that are free after this call. */
  readonly remaining: number;
  /** Ms after which a call would be accepted, when this one was refused; else 0. */
  readonly retryAfterMs: number;
  /** Ms after which all slots are free. */
  readonly resetMs: number;
  /** The Redis time in microseconds at which the call was accepted; 0 when it was refused. */
  readonly acceptedAtRedisUs: number;
  /** Redis's clock, ms. The call's deadline in Redis time is computed from it. */
  readonly redisNowMs: number;
}

/** At most `rate` accepted calls of a key in any sliding second, across all gateways, by Redis time. */
export class RateLimit {
  private readonly calls: Batcher<RateRequest, RateDecision>;

  /**
   * @param timeoutMs longest wait from `take` to the answer. The connection's own timeout starts later, when the
   * command is sent
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
   * Takes a slot if one is free. A refused call takes none. A key's calls of one iteration of the event loop share one
   * command, which decides them in order.
   * @param leftMs longest wait, if shorter than the timeout of this limit
   * @throws the error of Redis or the connection; TimedOut
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

/** Parses the reply of the script: Redis's time in ms, then five numbers per call. */
function decisions(raw: unknown): RateDecision[] {
  const [redisNowMs = 0, ...numbers] = integersReply(raw);
  const perCall: RateDecision[] = [];
  for (let start = 0; start < numbers.length; start += numbersPerCall) {
    const [accepted, remaining = 0, retryAfterUs = 0, resetUs = 0, acceptedAtRedisUs = 0] = numbers.slice(
      start,
      start + numbersPerCall,
    );
    perCall.push({
      accepted: accepted === 1,
      remaining,
      retryAfterMs: Math.ceil(retryAfterUs / 1_000),
      resetMs: Math.ceil(resetUs / 1_000),
      acceptedAtRedisUs,
      redisNowMs,
    });
  }
  return perCall;
}
