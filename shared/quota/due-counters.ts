import type { Redis } from '../redis/connect.js';
import {
  activeCountersKey,
  anyUsageKey,
  counterOfUsageKey,
  dueCountersKey,
  leasesKey,
  type UsageCounter,
  usageKey,
} from '../redis/keys.js';
import { integerReply, integersReply, luaCommand, stringsReply } from '../redis/lua-command.js';
import { allKeys } from '../redis/scan.js';
import { counterOf, memberOf } from './leases.js';

/** Counters that one script call claims, and that are visited together. */
const pageSize = 1_000;
/** Less than the interval of sweeps: the next one visits what a dead pool has claimed. */
const claimMs = 3_000;

/** A counter whose visit is due. */
export interface DueCounter {
  readonly counter: UsageCounter;
  /** Redis ms of its last mark, as Redis formats it. */
  readonly mark: string;
}

/** When a counter needs the sweep, in Redis ms; `undefined` for never. */
export interface CounterTimes {
  readonly nowMs: number;
  /** The earliest expiry of its leases. */
  readonly expiresMs: number | undefined;
  /** When it was last set from the ledger; undefined for an unknown counter. */
  readonly countedMs: number | undefined;
  readonly recountMs: number | undefined;
}

/** The next visit of a counter, or its end. */
export interface NextVisit extends DueCounter {
  readonly atMs: number;
  /** Takes the counter off the lists, unless it was marked since `mark`. */
  readonly isIdle?: boolean;
}

/**
 * The order in which active counters need a visit of the sweep.
 *
 * No lease is forgotten. A gateway marks a counter before it holds records, at least once a minute. A counter stays on
 * the lists for ten minutes after its last mark, and while it has leases. Its next visit is at most a lease after the
 * last one. So a lease that is made after a visit expires after the next. A recount that is requested after a visit is
 * due after the next, too.
 */
export class DueCounters {
  private readonly claimPage;
  private readonly readTimes;
  private readonly setVisits;

  constructor(private readonly redis: Redis) {
    const file = (name: string) => `shared/quota/lua/schedule/${name}.lua`;
    this.claimPage = luaCommand(redis, { file: file('claim-due-counters'), reply: stringsReply });
    this.readTimes = luaCommand(redis, { file: file('read-counter-times'), reply: integersReply });
    this.setVisits = luaCommand(redis, { file: file('schedule-visits'), reply: integerReply });
  }

  /** Claims all counters that are due, in pages. Another sweep does not get them for three seconds. */
  async *claim(untilRedisMs: number): AsyncGenerator<readonly DueCounter[]> {
    for (let isFirst = true; ; isFirst = false) {
      const args = [untilRedisMs, claimMs, pageSize, isFirst ? 1 : 0];
      const flat = await this.claimPage({ keys: listKeys, args });
      yield flat.flatMap((member, index) => {
        const counter = index % 2 === 0 ? counterOf(member) : undefined;
        return counter === undefined ? [] : [{ counter, mark: flat[index + 1] ?? '' }];
      });
      if (flat.length < 2 * pageSize) return;
    }
  }

  /**
   * Marks all counters that Redis has, unless they are marked. For a new run of Redis: a failover may have lost marks
   * that gateways rely on for a minute.
   */
  async markAll(atRedisMs: number): Promise<void> {
    for await (const keys of allKeys(this.redis, anyUsageKey)) {
      const marks = keys.flatMap((key) => {
        const counter = counterOfUsageKey(key);
        return counter === undefined ? [] : [atRedisMs, memberOf(counter)];
      });
      if (marks.length > 0) await this.redis.zadd(activeCountersKey, 'NX', ...marks);
    }
  }

  async timesOf(counter: UsageCounter): Promise<CounterTimes> {
    const reply = await this.readTimes({ keys: [usageKey(counter), leasesKey(counter)], args: [] });
    const [nowMs = 0, ...times] = reply;
    const [expiresMs, countedMs, recountMs] = times.map((time) => (time < 0 ? undefined : time));
    return { nowMs, expiresMs, countedMs, recountMs };
  }

  /** Sets the next visits of counters. */
  async scheduleVisits(visits: readonly NextVisit[]): Promise<void> {
    if (visits.length === 0) return;
    const args = visits.flatMap(({ counter, atMs, mark, isIdle }) => [memberOf(counter), atMs, isIdle ? mark : '']);
    await this.setVisits({ keys: listKeys, args });
  }
}

const listKeys = [activeCountersKey, dueCountersKey];
