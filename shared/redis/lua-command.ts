import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { projectFile } from '../process/project-root.js';
import type { Redis } from './connect.js';
import { sendAtOnce } from './send-at-once.js';

/** One call of a script: the keys that it may touch (one hash tag), and its arguments. */
export interface LuaCall {
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/** Runs a script on Redis and gives its reply. Fails with what Redis or the connection says. */
export type LuaCommand<Reply> = (call: LuaCall) => Promise<Reply>;

/**
 * Makes a command of a `.lua` file, which is read once, here. Each call is one EVALSHA; a Redis that has forgotten the
 * script (restarted, SCRIPT FLUSH) is sent the whole of it.
 * @param options `file` is the script's path from the project's root; `reply` reads what the script returns; `atOnce` is
 * for calls that were gathered already: they are not gathered once more where the connection does that (see `sendAtOnce`)
 * @throws Error when the file cannot be read
 */
export function luaCommand<Reply>(
  redis: Redis,
  options: {
    readonly file: string;
    readonly reply: (raw: unknown) => Reply;
    readonly atOnce?: boolean;
  },
): LuaCommand<Reply> {
  const { file, reply, atOnce = false } = options;
  const script = readFileSync(projectFile(file), 'utf8');
  const digest = createHash('sha1').update(script).digest('hex');
  return async ({ keys, args }) => {
    try {
      if (atOnce) return reply(await sendAtOnce(redis, 'evalsha', [digest, keys.length, ...keys, ...args]));
      return reply(await redis.evalsha(digest, keys.length, ...keys, ...args));
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return reply(await redis.eval(script, keys.length, ...keys, ...args));
    }
  };
}

/**
 * Reads a reply that is an array of integers.
 * @throws TypeError when it is anything else
 */
export function integersReply(raw: unknown): number[] {
  if (!Array.isArray(raw)) throw new TypeError(`A Lua script answered ${typeof raw}, not an array`);
  return raw.map(integerReply);
}

/**
 * Reads a reply that is one integer.
 * @throws TypeError when it is anything else
 */
export function integerReply(raw: unknown): number {
  if (!Number.isSafeInteger(raw)) throw new TypeError(`A Lua script answered ${String(raw)}, not an integer`);
  return Number(raw);
}

/**
 * Reads a reply that is an array of strings.
 * @throws TypeError when it is anything else
 */
export function stringsReply(raw: unknown): string[] {
  if (!Array.isArray(raw) || !raw.every((item) => typeof item === 'string'))
    throw new TypeError('A Lua script answered something else than an array of strings');
  return raw;
}
