import type { Redis } from '../../shared/redis/connect.js';
import { modelStrikesKey } from '../../shared/redis/keys.js';
import { integerReply, luaCommand } from '../../shared/redis/lua-command.js';

/** How a model ended the worker process that ran it. */
export type DeathCause = 'crash' | 'hang';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** How long a strike is remembered, and the quarantine that a first one brings. A further one brings `hourMs`. */
const strikeRules: Readonly<Record<DeathCause, { readonly windowMs: number; readonly firstMs: number }>> = {
  crash: { windowMs: minuteMs, firstMs: 0 }, // a single crash may be an accident of the machine
  hang: { windowMs: hourMs, firstMs: minuteMs }, // the chunk's other attempts would hang the other workers at once
};

/** Counts the death of a worker process against the version that it was running. Returns the count. */
export type Strike = (modelKey: string, cause: DeathCause, nowMs: number) => Promise<number>;

/** Makes the command on a connection. */
export function strikeCommand(redis: Redis): Strike {
  const strike = luaCommand(redis, { file: 'worker/pool/strike.lua', reply: integerReply });
  return (modelKey, cause, nowMs) => {
    const { windowMs, firstMs } = strikeRules[cause];
    return strike({ keys: [modelStrikesKey], args: [modelKey, nowMs, windowMs, firstMs, hourMs] });
  };
}

/** The quarantined versions (`<model>:<version>`). */
export async function quarantinedVersions(redis: Redis): Promise<string[]> {
  const strikes = await redis.hgetall(modelStrikesKey);
  return Object.keys(strikes).filter((modelKey) => isQuarantined(strikes, modelKey, Date.now()));
}

/**
 * Whether a version is quarantined. The hash outlives single quarantines, so each entry holds its own end.
 * @param strikes all versions' strikes, as `strike.lua` writes them
 */
export function isQuarantined(strikes: Readonly<Record<string, string>>, modelKey: string, nowMs: number): boolean {
  const [, , endMs = 0] = (strikes[modelKey] ?? '').split('@').map(Number);
  return nowMs < endMs;
}
