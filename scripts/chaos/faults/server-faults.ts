import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { type ChaosStage, type Fault, type PlannedFault, seconds } from './fault.js';

/** Exceeds the deadline of the calls of a run. */
const maxFreezeMs = 5_000;
/** Writes that a failover to a lagging replica may lose, ms. */
const maxLossMs = 4_000;

export const serverFaults = (): readonly Fault[] => [
  { part: 'redis', weight: 3, plan: (random) => freeze('redis', random.integer(300, maxFreezeMs)) },
  { part: 'redis', weight: 3, plan: () => restart('redis') },
  { part: 'redis', weight: 1, plan: () => ({ name: 'Redis data lost', cause: loseRedis }) },
  { part: 'redis', weight: 2, plan: (random) => goBack(random.integer(500, maxLossMs)) },
  { part: 'redis', weight: 3, plan: () => redisCommand('Redis emptied', (redis) => redis.flushall()) },
  {
    part: 'redis',
    weight: 2,
    plan: () => redisCommand('Redis forgets its scripts', (redis) => redis.script('FLUSH')),
  },
  { part: 'redis', weight: 2, plan: (random) => fillRedis(random.integer(300, 2_000)) },
  { part: 'mongo', weight: 3, plan: (random) => freeze('mongo', random.integer(300, maxFreezeMs)) },
  { part: 'mongo', weight: 3, plan: () => restart('mongo') },
  { part: 'mongo', weight: 3, plan: (random) => stepDown(random.integer(1, 3)) },
];

const titles = { redis: 'Redis', mongo: 'MongoDB' } as const;

const freeze = (server: 'redis' | 'mongo', forMs: number): PlannedFault => ({
  name: `${titles[server]} frozen for ${seconds(forMs)}`,
  cause: async ({ cluster }) => {
    cluster.freeze(server);
    await pause(forMs);
    cluster.thaw(server);
  },
});

const restart = (server: 'redis' | 'mongo'): PlannedFault => ({
  name: `${titles[server]} killed and started again`,
  cause: async ({ cluster }) => {
    await cluster.kill(server);
    await cluster.revive(server);
  },
});

async function loseRedis({ cluster }: ChaosStage): Promise<void> {
  await cluster.kill('redis');
  await cluster.loseData('redis');
  await cluster.revive('redis');
}

const goBack = (byMs: number): PlannedFault => ({
  name: `Redis restored from an older copy, back by ${seconds(byMs)}`,
  cause: async ({ cluster }) => {
    await cluster.keepCopy('redis');
    await pause(byMs);
    await cluster.kill('redis');
    await cluster.returnToCopy('redis');
    await cluster.revive('redis');
  },
});

const redisCommand = (name: string, command: (redis: Redis) => Promise<unknown>): PlannedFault => ({
  name,
  cause: ({ cluster }) => onRedis(cluster.redisUrl, command),
});

const fillRedis = (forMs: number): PlannedFault => ({
  name: `Redis full for ${seconds(forMs)}`,
  cause: ({ cluster }) =>
    onRedis(cluster.redisUrl, async (redis) => {
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
