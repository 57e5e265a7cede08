import type { Redis } from '../redis/connect.js';
import { activeCountersKey, type UsageCounter } from '../redis/keys.js';
import { integerReply, type LuaCommand, luaCommand } from '../redis/lua-command.js';
import { sendAtOnce } from '../redis/send-at-once.js';

const markAgainAfterMs = 60_000;
const maxRemembered = 10_000;

/** A counter that may hold leases, with its score as Redis writes it: the Redis ms when it was noted last. */
export interface ActiveCounter {
  readonly counter: UsageCounter;
  readonly score: string;
}

/** The list of counters that may hold leases, which the sweep goes over. */
export class ActiveCounters {
  /** When this process noted each counter last, in Redis ms. */
  private readonly notedAtMs = new Map<string, number>();
  private readonly dropIdle: LuaCommand<number>;

  constructor(private readonly redis: Redis) {
    this.dropIdle = luaCommand(redis, {
      file: 'shared/quota/lua/drop-idle-counter.lua',
      reply: integerReply,
    });
  }

  /**
   * Puts a counter on the list, unless this process did so in the last minute. The command is sent before this returns
   * its promise, so that a reserve sent next on the same connection comes after it.
   * @param atRedisMs now, or a little later (a call's deadline will do), by Redis time
   */
  async note(counter: UsageCounter, atRedisMs: number): Promise<void> {
    const member = memberOf(counter);
    const notedAtMs = this.notedAtMs.get(member);
    if (notedAtMs !== undefined && Math.abs(atRedisMs - notedAtMs) < markAgainAfterMs) return;
    if (this.notedAtMs.size >= maxRemembered) this.notedAtMs.clear();
    this.notedAtMs.set(member, atRedisMs);
    try {
      await sendAtOnce(this.redis, 'zadd', [activeCountersKey, 'GT', atRedisMs, member]);
    } catch (error) {
      this.notedAtMs.delete(member);
      throw error;
    }
  }

  /** Puts a counter on the list even if it was noted just now: the list may have been lost since. */
  async markActive(counter: UsageCounter, atRedisMs: number): Promise<void> {
    this.notedAtMs.delete(memberOf(counter));
    await this.note(counter, atRedisMs);
  }

  /** Every counter on the list. */
  async list(): Promise<ActiveCounter[]> {
    const flat = await this.redis.zrange(activeCountersKey, 0, '-1', 'WITHSCORES');
    const activeCounters: ActiveCounter[] = [];
    for (let index = 0; index + 1 < flat.length; index += 2) {
      const counter = counterOf(flat[index] ?? '');
      if (counter) activeCounters.push({ counter, score: flat[index + 1] ?? '' });
    }
    return activeCounters;
  }

  /** Takes a counter off the list, unless it was noted again since the list was read. */
  async drop({ counter, score }: ActiveCounter): Promise<void> {
    await this.dropIdle({ keys: [activeCountersKey], args: [memberOf(counter), score] });
  }
}

const memberOf = ({ organisationId, bucket, month }: UsageCounter): string =>
  `${organisationId} ${bucket} ${month}`;

function counterOf(member: string): UsageCounter | undefined {
  const [organisationId, bucket, month] = member.split(' ');
  if (organisationId === undefined || month === undefined) return undefined;
  return bucket === 'live' || bucket === 'test' ? { organisationId, bucket, month } : undefined;
}
