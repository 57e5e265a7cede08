import { Command } from 'ioredis';
import type { Redis } from './connect.js';

/**
 * Has a connection write as one piece what it is given from now on until the callbacks that are due have run: without
 * this, each command is a write. (On a cluster each still is.)
 */
export function inOneWrite(redis: Redis): void {
  // A cluster has no stream of its own, nor has a connection that was never made.
  const stream: Redis['stream'] | undefined = redis.stream;
  if (stream?.writableCorked !== 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/**
 * Writes a command now, also on a connection that otherwise writes the commands of a turn together and holds them back
 * until those before are answered. For what was gathered already, or must come before something else that is sent so:
 * commands that are sent at once arrive in their order. Those that are sent without anything else happening in between
 * are one write.
 * @returns Redis's reply, strings as UTF-8. Fails with what Redis or the connection says
 */
export async function sendAtOnce(
  redis: Redis,
  name: string,
  args: readonly (string | number)[],
): Promise<unknown> {
  inOneWrite(redis);
  return await redis.sendCommand(new Command(name, [...args], { replyEncoding: 'utf8' }));
}
