import type { Redis } from 'ioredis';

/**
 * The commands that `work` sends on a connection, without those from within scripts.
 *
 * MONITOR shows the commands of all databases, so it also has those of other tests on the same server.
 */
export async function sentCommands(redis: Redis, work: () => Promise<unknown>): Promise<string[][]> {
  const own = /\baddr=(\S+)/.exec(String(await redis.client('INFO')))?.[1];
  const sent: string[][] = [];
  const monitor = await redis.monitor();
  const ended = new Promise<void>((resolve) => {
    monitor.on('monitor', (_time: string, args: string[], source: string) => {
      if (source !== own) return;
      if (args[0] === 'echo') resolve();
      else sent.push(args);
    });
  });
  await work();
  await redis.echo('end');
  await ended;
  monitor.disconnect();
  return sent;
}
