import { integerReply, type LuaCommand, luaCommand } from '../lua-command.js';
import type { Redis } from '../redis.js';
import { busyCountersKey, type UsageCounter } from '../redis-keys.js';
import { sendAtOnce } from '../send-at-once.js';

const noteAgainAfterMs = 60_000;
const mostRemembered = 10_000;

/** A counter that may hold leases, with its score as Redis writes it: the Redis ms when it was noted last. */
export interface BusyCounter {
  readonly counter: UsageCounter;
  readonly score: string;
}

/** The list of counters that may hold leases, which the sweep goes over. */
export class BusyCounters {
  /** When this process noted each counter last, in Redis ms. */
  readonly #notedAtMs = new Map<string, number>();
  readonly #dropIdle: LuaCommand<number>;

  constructor(private readonly redis: Redis) {
    this.#dropIdle = luaCommand(redis, { file: 'shared/quota/drop-idle-counter.lua', reply: integerReply });
  }

  /**
   * Puts a counter on the list, unless this process did so in the last minute. The command is sent before this returns
   * its promise, so that a reserve sent next on the same connection comes after it.
   * @param atRedisMs now, or a little later (a call's deadline will do), by Redis time
   */
  async note(counter: UsageCounter, atRedisMs: number): Promise<void> {
    const member = memberOf(counter);
    const notedAtMs = this.#notedAtMs.get(member);
    if (notedAtMs !== undefined && Math.abs(atRedisMs - notedAtMs) < noteAgainAfterMs) return;
    if (this.#notedAtMs.size >= mostRemembered) this.#notedAtMs.clear();
    this.#notedAtMs.set(member, atRedisMs);
    try {
      await sendAtOnce(this.redis, 'zadd', [busyCountersKey, 'GT', atRedisMs, member]);
    } catch (error) {
      this.#notedAtMs.delete(member);
      throw error;
    }
  }

  /** Puts a counter on the list even if it was noted just now: the list may have been lost since. */
  async noteAgain(counter: UsageCounter, atRedisMs: number): Promise<void> {
    this.#notedAtMs.delete(memberOf(counter));
    await this.note(counter, atRedisMs);
  }

  /** Every counter on the list. */
  async list(): Promise<BusyCounter[]> {
    const flat = await this.redis.zrange(busyCountersKey, 0, '-1', 'WITHSCORES');
    const busy: BusyCounter[] = [];
    for (let index = 0; index + 1 < flat.length; index += 2) {
      const counter = counterOf(flat[index] ?? '');
      if (counter) busy.push({ counter, score: flat[index + 1] ?? '' });
    }
    return busy;
  }

  /** Takes a counter off the list, unless it was noted again since the list was read. */
  async drop({ counter, score }: BusyCounter): Promise<void> {
    await this.#dropIdle({ keys: [busyCountersKey], args: [memberOf(counter), score] });
  }
}

const memberOf = ({ organisationId, bucket, month }: UsageCounter): string =>
  `${organisationId} ${bucket} ${month}`;

function counterOf(member: string): UsageCounter | undefined {
  const [organisationId, bucket, month] = member.split(' ');
  if (organisationId === undefined || month === undefined) return undefined;
  return bucket === 'live' || bucket === 'test' ? { organisationId, bucket, month } : undefined;
}
