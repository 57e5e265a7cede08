import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Command } from 'ioredis';
import { projectFile } from '../process/project-root.js';
import type { Redis } from './connect.js';

/** One call of a script: the keys that it touches (all of one hash tag), and its arguments. */
interface LuaCall {
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/** Runs a script on Redis. Fails with the error of Redis or of the connection. */
export type LuaCommand<Reply> = (call: LuaCall) => Promise<Reply>;

/**
 * Makes a command of a `.lua` file, which is read once, here. Each call is one EVALSHA. When Redis does not have the
 * script (after a restart or SCRIPT FLUSH), the whole script follows.
 * @param options.file path from the project's root
 * @param options.reply parses the script's reply
 * @param options.atOnce for calls that are batches already: the connection must not batch them again (see
 * `sendAtOnce`). `whole` sends the whole script each time. A missing script would run after the commands behind it.
 * @throws Error when the file cannot be read
 */
export function luaCommand<Reply>(
  redis: Redis,
  options: {
    readonly file: string;
    readonly reply: (raw: unknown) => Reply;
    readonly atOnce?: boolean | 'whole';
  },
): LuaCommand<Reply> {
  const { file, reply, atOnce = false } = options;
  const script = readFileSync(projectFile(file), 'utf8');
  const digest = createHash('sha1').update(script).digest('hex');
  return async ({ keys, args }) => {
    if (atOnce === 'whole') return reply(await sendAtOnce(redis, 'eval', [script, keys.length, ...keys, ...args]));
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
 * Parses a reply that is an array of integers.
 * @throws TypeError for any other reply
 */
export function integersReply(raw: unknown): number[] {
  if (!Array.isArray(raw)) throw new TypeError(`a Lua script returned ${typeof raw} instead of an array`);
  return raw.map(integerReply);
}

/**
 * Parses a reply that is one integer.
 * @throws TypeError for any other reply
 */
export function integerReply(raw: unknown): number {
  if (!Number.isSafeInteger(raw)) throw new TypeError(`a Lua script returned ${String(raw)} instead of an integer`);
  return Number(raw);
}

/**
 * Parses a reply that is an array of strings.
 * @throws TypeError for any other reply
 */
export function stringsReply(raw: unknown): string[] {
  if (!Array.isArray(raw) || !raw.every((item) => typeof item === 'string'))
    throw new TypeError('a Lua script returned something else than an array of strings');
  return raw;
}

/**
 * Makes the commands that follow on a connection share one write, until the next tick. Otherwise each is a write. No
 * effect on a cluster.
 */
export function inOneWrite(redis: Redis): void {
  // A cluster has no stream of its own, nor has a connection that was never made.
  const stream: Redis['stream'] | undefined = redis.stream;
  if (stream?.writableCorked !== 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/**
 * Sends a command without auto-pipelining, which would hold it back until the pipeline before is answered. For batches,
 * and for commands that must arrive before another one sent this way. Commands sent this way arrive in order and share
 * a write when they are sent in the same tick.
 * @returns the reply, with strings as UTF-8. Fails with the error of Redis or of the connection
 */
export async function sendAtOnce(redis: Redis, name: string, args: readonly (string | number)[]): Promise<unknown> {
  inOneWrite(redis);
  return await redis.sendCommand(new Command(name, [...args], { replyEncoding: 'utf8' }));
}
