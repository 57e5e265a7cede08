import { randomUUID } from 'node:crypto';
import type { Redis } from './connect.js';
import { integerReply, type LuaCommand, luaCommand } from './lua-command.js';

/** The exclusive right to a piece of work. Lost when Redis is emptied, or when its TTL expires. */
export interface Lock {
  /** The value of the key. A script that must run under the lock compares it: a lock may be lost at any time. */
  readonly token: string;
  /** Drops the lock if this holder still has it. Never rejects: the TTL ends a lock that cannot be dropped. */
  drop(): Promise<void>;
}

/** Locks for one holder at a time among all processes: a key with a TTL, which has the holder's token. */
export class Locks {
  private readonly change: LuaCommand<number>;

  constructor(private readonly redis: Redis) {
    this.change = luaCommand(redis, { file: 'shared/redis/lua/lock.lua', reply: integerReply });
  }

  /**
   * Takes a lock; undefined while another holder has it.
   * @param options.isRenewed renews the lock three times in `ttlMs`, until it is dropped or lost
   * @throws the error of Redis
   */
  async take(
    key: string,
    { ttlMs, isRenewed = false }: { readonly ttlMs: number; readonly isRenewed?: boolean },
  ): Promise<Lock | undefined> {
    const token = randomUUID();
    if ((await this.redis.set(key, token, 'PX', ttlMs, 'NX')) !== 'OK') return undefined;
    const renewing = isRenewed ? this.renew(key, token, ttlMs) : undefined;
    return {
      token,
      drop: async () => {
        clearInterval(renewing);
        await this.change({ keys: [key], args: [token, 0] }).catch(() => undefined);
      },
    };
  }

  private renew(key: string, token: string, ttlMs: number): NodeJS.Timeout {
    const renewing = setInterval(() => {
      this.change({ keys: [key], args: [token, ttlMs] }).then(
        (held) => held || clearInterval(renewing),
        () => undefined, // the next renewal may succeed
      );
    }, ttlMs / 3);
    return renewing.unref();
  }
}

/**
 * Deletes a lock whose TTL exceeds the TTL that it was set with. This happens when Redis's clock is set back; the lock
 * would not expire before that clock has caught up.
 * @param maxMs the TTL that it was set with
 * @throws errors of Redis
 */
export async function clearStuckLock(redis: Redis, key: string, maxMs: number): Promise<void> {
  if ((await redis.pttl(key)) > maxMs) await redis.del(key);
}
