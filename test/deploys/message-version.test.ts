import { once } from 'node:events';
import { Queue, Worker } from 'bullmq';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { createLogger } from '../../shared/logger.js';
import { payloadKey, queuePrefix, replyStreamKey } from '../../shared/redis-keys.js';
import { type ChunkJob, encodePayload, laneQueueName, messageVersion } from '../../shared/score-job.js';
import { ChunkMailbox } from '../../worker/chunk-mailbox.js';
import { startLaneWorker } from '../../worker/lane-worker.js';
import { eventually } from '../support/eventually.js';
import { freshDatabases } from '../support/servers.js';

const lane = 'singles';
const gateway = 'the-gateway-that-waits';
const nextVersion = messageVersion + 1;

describe('a job of another version', () => {
  const connections: Redis[] = [];
  let redis: Redis;
  let queue: Queue<ChunkJob>;
  let ours: Worker<ChunkJob>;
  let scored: string[];

  const connect = (url: string): Redis => {
    const connection = new Redis(url, { maxRetriesPerRequest: null, replyMapping: 'legacy' });
    connections.push(connection);
    return connection;
  };

  beforeEach(async () => {
    const { redisUrl } = await freshDatabases();
    redis = connect(redisUrl);
    queue = new Queue(laneQueueName(lane), { connection: connect(redisUrl), prefix: queuePrefix });
    scored = [];
    ours = startLaneWorker({
      lane,
      concurrency: 4,
      oneAtATime: true,
      connection: connect(redisUrl),
      mailbox: new ChunkMailbox(connect(redisUrl)),
      score: async ({ chunk }) => {
        scored.push(chunk);
        return { chunk, parts: [] };
      },
      logger: createLogger('silent', 'test'),
    });
    void ours.run();
    await ours.waitUntilReady();
  });
  afterEach(async () => {
    await ours.close();
    await queue.close();
    for (const connection of connections.splice(0)) connection.disconnect();
  });

  /** Queues a chunk as a gateway does. */
  async function send(chunk: string, { jobVersion = messageVersion, payloadVersion = messageVersion }) {
    const head = { v: payloadVersion, chunk, gateway, organisation: 'org', model: 'mdl', version: '1' };
    await redis.set(payloadKey(chunk), encodePayload({ ...head, otherModels: [], parts: [] }), 'PX', 60_000);
    await queue.add('chunk', { v: jobVersion, chunk }, { removeOnComplete: true, removeOnFail: true });
  }

  const left = () => queue.getJobCountByTypes('wait', 'active', 'delayed', 'failed', 'completed');

  /** The same job comes back to a worker that does not know it: it was refused and is taken up again. */
  const refusedTwice = async () => {
    for (let time = 0; time < 2; time += 1) await once(ours, 'active');
  };

  for (const [where, versions] of [
    ['job', { jobVersion: nextVersion }],
    ['payload', { payloadVersion: nextVersion }],
  ] as const) {
    it(`in its ${where} is left to a worker that knows it, and keeps nobody else waiting`, async () => {
      const refused = refusedTwice();
      await send('of-tomorrow', versions);
      await refused;
      await send('of-today', {});
      await eventually(() => expect(scored).to.deep.equal(['of-today']));
      expect(await redis.xlen(replyStreamKey(gateway))).to.equal(1);

      const taken: string[] = [];
      const theirs = new Worker<ChunkJob>(
        queue.name,
        async ({ data }) => {
          taken.push(data.chunk);
        },
        { connection: connect(`redis://127.0.0.1:${redis.options.port}`), prefix: queuePrefix },
      );
      try {
        await eventually(() => expect(taken).to.deep.equal(['of-tomorrow']), 10_000);
        await eventually(async () => expect(await left()).to.equal(0));
      } finally {
        await theirs.close();
      }
      expect(scored).to.deep.equal(['of-today']);
    });
  }

  it('goes away when nobody waits for it any more', async () => {
    const refused = refusedTwice();
    await send('of-tomorrow', { jobVersion: nextVersion });
    await refused;
    expect(await left()).to.equal(1);
    await redis.del(payloadKey('of-tomorrow'));
    await eventually(async () => expect(await left()).to.equal(0));
    expect(scored).to.deep.equal([]);
  });
});
