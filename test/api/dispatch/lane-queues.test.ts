import { expect } from 'chai';
import { Redis } from 'ioredis';
import { LaneQueues } from '../../../api/dispatch/lane-queues.js';
import { type Lane, lanes } from '../../../shared/contract/lanes.js';
import {
  type ChunkJob,
  encodePayload,
  laneQueueName,
  maxInJob,
  type OutgoingPayload,
} from '../../../shared/messages/score-job.js';
import { createLogger } from '../../../shared/process/logger.js';
import { partitionPrefix, payloadKey } from '../../../shared/redis/keys.js';
import { WorkerRegister } from '../../../shared/redis/worker-register.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabases } from '../../support/service/servers.js';

const lane = 'singles';
const timeoutMs = 60_000;
const chunk = 'the-chunk';
const partitions = 4;
const partition = 3;
const head = { chunk, partition, gateway: 'gw', organisation: 'org', model: 'mdl', version: '1' };

describe('a chunk in a lane', () => {
  let redis: Redis;
  let queues: LaneQueues;

  beforeEach(async () => {
    const { redisUrl } = await freshDatabases();
    redis = new Redis(redisUrl, { replyMapping: 'legacy' });
    queues = new LaneQueues(redis, partitions, createLogger('silent', 'test'));
  });
  afterEach(async () => {
    await queues.close();
    redis.disconnect();
  });

  /** A payload whose JSON has this number of characters. */
  function payloadOf(characters: number): OutgoingPayload {
    const part = { now: 0, explain: false, firstRow: 0, crmIds: [null], rows: ['[""]'] };
    const payload = { ...head, parts: [part] };
    const filler = 'x'.repeat(characters - encodePayload(payload.parts).length);
    return { ...payload, parts: [{ ...part, rows: [`["${filler}"]`] }] };
  }

  const jobKey = `${partitionPrefix(partition)}:${laneQueueName(lane)}:${chunk}`;
  const job = async () => JSON.parse((await redis.hget(jobKey, 'data')) ?? '{}') as ChunkJob;

  it('is part of its job when it is short, and its chunk key expires at the deadline', async () => {
    const payload = payloadOf(maxInJob);
    await queues.add(lane, payload, timeoutMs);
    expect(await job()).to.deep.equal({ ...head, payload: encodePayload(payload.parts) });
    expect(await redis.get(payloadKey(head))).to.equal('');
    expect(await redis.pttl(payloadKey(head))).to.be.within(1, timeoutMs);
  });

  it('is stored under its chunk key when it is long', async () => {
    const payload = payloadOf(maxInJob + 1);
    await queues.add(lane, payload, timeoutMs);
    expect(await job()).to.deep.equal(head);
    expect(await redis.get(payloadKey(head))).to.equal(encodePayload(payload.parts));
    expect(await redis.pttl(payloadKey(head))).to.be.within(1, timeoutMs);
  });

  it('has more room in the window of its lane with each of its workers', async () => {
    const sizes = () => (['singles', 'batches', 'bulk'] as const).map((each) => queues.windowSize(each, partition));
    const least = sizes();
    expect(least).to.deep.equal([2, 4, 2]);
    const registered = async (of: Lane, count: number) => {
      const register = new WorkerRegister(redis, of);
      for (let index = 0; index < count; index += 1) await register.renew({ id: `${of}-${index}`, partitions });
    };
    await registered('bulk', 8);
    await registered('singles', 12);
    await registered('batches', 16);
    await queues.start();
    expect(sizes()).to.deep.equal([6, 16, 8]);
    expect(lanes.map((each) => queues.workersOf(each))).to.deep.equal([12, 16, 8]);
  });

  it('goes to partitions that all worker processes know, and says so once', async () => {
    const warnings: string[] = [];
    const warn = (_facts: unknown, message: string) => void warnings.push(message);
    const logger = Object.assign(createLogger('silent', 'test'), { warn });
    const counted = new LaneQueues(redis, partitions, logger);
    const register = new WorkerRegister(redis, 'batches');
    const seenWith = async (ofWorker: number) => {
      await register.renew({ id: 'other', partitions: ofWorker });
      await counted.start();
      await counted.close();
      await register.remove({ id: 'other', partitions: ofWorker });
      return counted.partitions;
    };
    await register.renew({ id: 'one', partitions });
    expect(await seenWith(partitions)).to.equal(partitions);
    expect(warnings).to.deep.equal([]);
    expect(await seenWith(2)).to.equal(2);
    expect(await seenWith(2)).to.equal(2);
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.match(/^LANES is 4 here, .* Calls use 2 partitions\. Give all processes the same number$/);
    expect(await seenWith(16)).to.equal(partitions);
    expect(warnings).to.have.length(2);
    expect(await seenWith(partitions)).to.equal(partitions);
  });

  it('is seen by bulk jobs while it is interactive and no worker has taken it', async () => {
    const ids = async () => (await queues.waitingHeads()).ids;
    expect(await queues.waitingHeads()).to.deep.equal({ ids: [], heldMs: 0 });
    await queues.add('bulk', payloadOf(1_000), timeoutMs);
    expect(await ids()).to.deep.equal([]);
    for (const interactive of ['singles', 'batches'] as const) {
      await queues.add(interactive, payloadOf(1_000), timeoutMs);
      await queues.add(interactive, { ...payloadOf(1_000), chunk: 'a later one' }, timeoutMs);
      expect(await ids(), interactive).to.deep.equal([chunk]);
      queues.cancel(interactive, head);
      queues.cancel(interactive, { ...head, chunk: 'a later one' });
      await eventually(async () => expect(await ids(), interactive).to.deep.equal([]));
    }
  });

  it('tells bulk jobs that it waited in the gateway, if it is interactive and waited for 5 ms', async () => {
    const heldMs = async () => (await queues.waitingHeads()).heldMs;
    await queues.add('bulk', payloadOf(1_000), timeoutMs, 50);
    await queues.add(lane, payloadOf(1_000), timeoutMs, 4.9);
    expect(await heldMs()).to.equal(0);
    await queues.add(lane, { ...payloadOf(1_000), chunk: 'held' }, timeoutMs, 50);
    expect(await heldMs()).to.equal(50);
    await eventually(async () => expect(await heldMs()).to.equal(0));
  });

  it('leaves nothing in Redis when it is cancelled before a worker starts it', async () => {
    await queues.add(lane, payloadOf(1_000), timeoutMs);
    expect(await queues.depth(lane, partition)).to.equal(1);
    queues.cancel(lane, head);
    await eventually(async () => expect(await queues.depth(lane, partition)).to.equal(0));
    expect(await redis.exists(payloadKey(head), jobKey)).to.equal(0);
  });
});
