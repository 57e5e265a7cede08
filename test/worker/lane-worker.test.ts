import { once } from 'node:events';
import { Queue, type Worker } from 'bullmq';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { createLogger } from '../../shared/logger.js';
import { payloadKey, queuePrefix } from '../../shared/redis-keys.js';
import { type ChunkJob, encodePayload, laneQueueName, messageVersion } from '../../shared/score-job.js';
import { ChunkMailbox } from '../../worker/chunk-mailbox.js';
import { startLaneWorker } from '../../worker/lane-worker.js';
import { eventually } from '../support/eventually.js';
import { freshDatabases } from '../support/servers.js';

const lane = 'singles';
const atOnce = 3;

describe('a lane worker', () => {
  const connections: Redis[] = [];
  let redis: Redis;
  let queue: Queue<ChunkJob>;
  let worker: Worker<ChunkJob>;
  let begun: string[];
  /** Ends the chunks whose names begin with `long`. */
  let release: () => void;

  const connect = (url: string): Redis => {
    const connection = new Redis(url, { maxRetriesPerRequest: null, replyMapping: 'legacy' });
    connections.push(connection);
    return connection;
  };

  beforeEach(async () => {
    const { redisUrl } = await freshDatabases();
    redis = connect(redisUrl);
    queue = new Queue(laneQueueName(lane), { connection: connect(redisUrl), prefix: queuePrefix });
    begun = [];
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    worker = startLaneWorker({
      lane,
      concurrency: atOnce,
      oneAtATime: true,
      connection: connect(redisUrl),
      mailbox: new ChunkMailbox(connect(redisUrl)),
      score: async ({ chunk }) => {
        begun.push(chunk);
        if (chunk.startsWith('long')) await released;
        return { chunk, parts: [] };
      },
      logger: createLogger('silent', 'test'),
    });
    void worker.run();
    await worker.waitUntilReady();
  });
  afterEach(async () => {
    release();
    await worker.close();
    await queue.close();
    for (const connection of connections.splice(0)) connection.disconnect();
  });

  async function send(chunk: string): Promise<void> {
    const head = { v: messageVersion, chunk, gateway: 'gw', organisation: 'org', model: 'mdl', version: '1' };
    await redis.set(payloadKey(chunk), encodePayload({ ...head, otherModels: [], parts: [] }), 'PX', 60_000);
    await queue.add('chunk', { v: messageVersion, chunk }, { removeOnComplete: true, removeOnFail: true });
  }

  const ended = () => once(worker, 'completed');

  it('takes one chunk at a time while none takes long', async () => {
    const first = ended();
    await send('short');
    await first;
    expect(worker.concurrency).to.equal(1);
  });

  it('lets no chunk wait for one that takes long, however many have come before', async () => {
    for (const round of [1, 2]) {
      await send(`long ${round}`);
      await eventually(() => expect(begun).to.include(`long ${round}`));
      await send(`short ${round}`);
      await eventually(() => expect(begun).to.include(`short ${round}`));
    }
  });

  it('has no more than so many in hand, takes up the next when one ends, and then one at a time again', async () => {
    for (let count = 1; count <= atOnce; count += 1) await send(`long ${count}`);
    await eventually(() => expect(begun).to.have.lengthOf(atOnce));
    await send('next');
    expect(await queue.getActiveCount()).to.equal(atOnce);
    expect(await queue.getWaitingCount()).to.equal(1);
    release();
    await eventually(() => expect(begun).to.include('next'));
    await eventually(() => expect(worker.concurrency).to.equal(1));
    await send('last');
    await eventually(() => expect(begun).to.include('last'));
  });

  it('waits for the chunks that take long when it is closed, and takes no further one', async () => {
    await send('long');
    await eventually(() => expect(worker.concurrency).to.equal(atOnce));
    const closed = worker.close();
    await send('late');
    release();
    await closed;
    expect(begun).to.deep.equal(['long']);
    expect(await queue.getActiveCount()).to.equal(0);
    expect(await queue.getWaitingCount()).to.equal(1);
  });
});
