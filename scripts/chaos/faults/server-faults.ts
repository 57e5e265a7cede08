import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import type { ServerName } from '../../servers/cluster.js';
import { type Fault, type PlannedFault, seconds } from './fault.js';

/** Exceeds the deadline of the calls of a run. */
const maxFreezeMs = 5_000;
/** Writes that a failover to a lagging replica may lose, ms. */
const maxLossMs = 4_000;

/** @param redis the server, or the masters of a Redis Cluster; a fault is of one of them */
export const serverFaults = (redis: readonly ServerName[]): readonly Fault[] => [
  { part: 'redis', weight: 3, plan: (random) => freeze(random.pick(redis), random.integer(300, maxFreezeMs)) },
  { part: 'redis', weight: 3, plan: (random) => restart(random.pick(redis)) },
  { part: 'redis', weight: 1, plan: (random) => lose(random.pick(redis)) },
  { part: 'redis', weight: 2, plan: (random) => goBack(random.pick(redis), random.integer(500, maxLossMs)) },
  { part: 'redis', weight: 3, plan: (random) => onServer(random.pick(redis), 'emptied', (each) => each.flushall()) },
  {
    part: 'redis',
    weight: 2,
    plan: (random) => onServer(random.pick(redis), 'forgets its scripts', (each) => each.script('FLUSH')),
  },
  { part: 'redis', weight: 2, plan: (random) => fill(random.pick(redis), random.integer(300, 2_000)) },
  { part: 'mongo', weight: 3, plan: (random) => freeze('mongo', random.integer(300, maxFreezeMs)) },
  { part: 'mongo', weight: 3, plan: () => restart('mongo') },
  { part: 'mongo', weight: 3, plan: (random) => stepDown(random.integer(1, 3)) },
];

const titles = {
  ...{ redis: 'Redis', 'redis-1': 'Redis (second master)', 'redis-2': 'Redis (third master)' },
  mongo: 'MongoDB',
} as const;

const freeze = (server: ServerName, forMs: number): PlannedFault => ({
  name: `${titles[server]} frozen for ${seconds(forMs)}`,
  cause: async ({ cluster }) => {
    cluster.freeze(server);
    await pause(forMs);
    cluster.thaw(server);
  },
});

const restart = (server: ServerName): PlannedFault => ({
  name: `${titles[server]} killed and started again`,
  cause: async ({ cluster }) => {
    await cluster.kill(server);
    await cluster.revive(server);
  },
});

const lose = (server: ServerName): PlannedFault => ({
  name: `${titles[server]} data lost`,
  cause: async ({ cluster }) => {
    await cluster.kill(server);
    await cluster.loseData(server);
    await cluster.revive(server);
  },
});

const goBack = (server: ServerName, byMs: number): PlannedFault => ({
  name: `${titles[server]} restored from an older copy, back by ${seconds(byMs)}`,
  cause: async ({ cluster }) => {
    await cluster.keepCopy(server);
    await pause(byMs);
    await cluster.kill(server);
    await cluster.returnToCopy(server);
    await cluster.revive(server);
  },
});

const onServer = (server: ServerName, what: string, command: (redis: Redis) => Promise<unknown>): PlannedFault => ({
  name: `${titles[server]} ${what}`,
  cause: ({ cluster }) => onRedis(cluster.server(server).url, command),
});

const fill = (server: ServerName, forMs: number): PlannedFault => ({
  name: `${titles[server]} full for ${seconds(forMs)}`,
  cause: ({ cluster }) =>
    onRedis(cluster.server(server).url, async (redis) => {
      await redis.config('SET', 'maxmemory', '1');
      await pause(forMs);
      await redis.config('SET', 'maxmemory', '0');
    }),
});

const stepDown = (forSeconds: number): PlannedFault => ({
  name: `MongoDB steps down for ${forSeconds} s`,
  cause: async ({ cluster }) => {
    const client = await MongoClient.connect(cluster.mongoUrl);
    try {
      await client.db('admin').command({ replSetStepDown: forSeconds, force: true });
    } finally {
      await client.close();
    }
    await pause(1_000 * forSeconds);
  },
});

async function onRedis(url: string, work: (redis: Redis) => Promise<unknown>): Promise<void> {
  const redis = new Redis(url);
  redis.on('error', () => undefined); // the command itself rejects with the error
  try {
    await work(redis);
  } finally {
    redis.disconnect();
  }
}
