import { randomUUID } from 'node:crypto';
import type { Redis } from '../redis/connect.js';
import { rebuildLockKey, type UsageCounter } from '../redis/keys.js';
import { integerReply, type LuaCommand, luaCommand } from '../redis/lua-command.js';

/** How long a lock outlives a holder that has died. A living one extends it three times as often. */
const lockMs = 3_000;

/** The right to set one counter from the ledger, held until it is dropped, lost with Redis's data, or out of time. */
export interface CounterLock {
  readonly token: string;
  /** Ends the lock, if it is still this holder's. Does not fail: a lock that cannot be ended runs out by itself. */
  drop(): Promise<void>;
}

/** Takes locks on counters. One process holds a counter's lock at a time; whoever uses it checks that in its script. */
export class CounterLocks {
  private readonly extend: LuaCommand<number>;
  private readonly drop: LuaCommand<number>;

  constructor(private readonly redis: Redis) {
    this.extend = luaCommand(redis, { file: 'shared/quota/lua/extend-lock.lua', reply: integerReply });
    this.drop = luaCommand(redis, { file: 'shared/quota/lua/drop-lock.lua', reply: integerReply });
  }

  /** The lock of a counter, or undefined while another holds it. Fails when Redis does not answer. */
  async take(counter: UsageCounter): Promise<CounterLock | undefined> {
    const token = randomUUID();
    const keys = [rebuildLockKey(counter)];
    const taken = await this.redis.set(rebuildLockKey(counter), token, 'PX', lockMs, 'NX');
    if (taken !== 'OK') return undefined;
    const extending = setInterval(() => {
      this.extend({ keys, args: [token, lockMs] }).then(
        (held) => held || clearInterval(extending),
        () => undefined, // the next one may get through; a lock that runs out is noticed where it is used
      );
    }, lockMs / 3);
    extending.unref();
    return {
      token,
      drop: async () => {
        clearInterval(extending);
        await this.drop({ keys, args: [token] }).catch(() => undefined);
      },
    };
  }
}
