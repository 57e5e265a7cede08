import { Queue, Worker } from 'bullmq';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { queuePrefix } from '../../../shared/redis/keys.js';
import { patchMarker } from '../../../worker/lanes/marker-patch.js';
import { freshDatabases } from '../../support/service/servers.js';

const name = 'some-jobs';
const token = 'the-token-of-a-worker';

describe('the mark on which idle workers wait', () => {
  const connections: Redis[] = [];
  let redisUrl: string;
  let queue: Queue;
  let worker: Worker | undefined;

  const connect = (): Redis => {
    const connection = new Redis(redisUrl, { maxRetriesPerRequest: null, replyMapping: 'legacy' });
    connections.push(connection);
    return connection;
  };

  beforeEach(async () => {
    ({ redisUrl } = await freshDatabases());
    queue = new Queue(name, { connection: connect(), prefix: queuePrefix });
  });
  afterEach(async () => {
    await worker?.close();
    await queue.close();
    for (const connection of connections.splice(0)) connection.disconnect();
  });

  /** A worker that takes jobs when it is told to. */
  function taker({ inVain }: { readonly inVain: boolean }): Worker {
    const connection = connect();
    if (!inVain) patchMarker(connection);
    worker = new Worker(name, null, { connection, prefix: queuePrefix, autorun: false });
    return worker;
  }

  const take = async (from: Worker) => {
    const job = await from.getNextJob(token, { block: false });
    if (job === undefined) throw new Error('there is no job');
    return job;
  };
  const isThere = async () => (await connect().zscore(queue.toKey('marker'), '0')) !== null;

  it('is put back by BullMQ itself when the only job is taken, for nobody', async () => {
    await queue.add('job', {});
    await take(taker({ inVain: true }));
    expect(await isThere()).to.equal(true);
  });

  it('is gone when the only job is taken, and comes with the next', async () => {
    const from = taker({ inVain: false });
    await queue.add('job', {});
    expect(await isThere()).to.equal(true);
    await take(from);
    expect(await isThere()).to.equal(false);
    await queue.add('job', {});
    expect(await isThere()).to.equal(true);
  });

  it('stays while a job is left, until the one who ends the first has taken that too', async () => {
    const from = taker({ inVain: false });
    await queue.addBulk([
      { name: 'job', data: { count: 1 } },
      { name: 'job', data: { count: 2 } },
    ]);
    const first = await take(from);
    expect(await isThere()).to.equal(true);
    const next: unknown = await first.moveToCompleted(undefined, token, true);
    expect(next).to.have.nested.property('[0].data', JSON.stringify({ count: 2 }));
    expect(await isThere()).to.equal(false);
  });
});
