import { expect } from 'chai';
import { Redis } from 'ioredis';
import { LaneQueues } from '../../../api/dispatch/lane-queues.js';
import {
  type ChunkJob,
  encodePayload,
  laneQueueName,
  maxInJob,
  type OutgoingPayload,
} from '../../../shared/messages/score-job.js';
import { createLogger } from '../../../shared/process/logger.js';
import { payloadKey, queuePrefix } from '../../../shared/redis/keys.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabases } from '../../support/service/servers.js';

const lane = 'singles';
const timeoutMs = 60_000;
const chunk = 'the-chunk';
const head = { chunk, gateway: 'gw', organisation: 'org', model: 'mdl', version: '1' };

describe('a chunk in a lane', () => {
  let redis: Redis;
  let queues: LaneQueues;

  beforeEach(async () => {
    const { redisUrl } = await freshDatabases();
    redis = new Redis(redisUrl, { replyMapping: 'legacy' });
    queues = new LaneQueues(redis, createLogger('silent', 'test'));
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

  const jobKey = `${queuePrefix}:${laneQueueName(lane)}:${chunk}`;
  const job = async () => JSON.parse((await redis.hget(jobKey, 'data')) ?? '{}') as ChunkJob;

  it('is part of its job when it is short, and its chunk key expires at the deadline', async () => {
    const payload = payloadOf(maxInJob);
    await queues.add(lane, payload, timeoutMs);
    expect(await job()).to.deep.equal({ ...head, payload: encodePayload(payload.parts) });
    expect(await redis.get(payloadKey(chunk))).to.equal('');
    expect(await redis.pttl(payloadKey(chunk))).to.be.within(1, timeoutMs);
  });

  it('is stored under its chunk key when it is long', async () => {
    const payload = payloadOf(maxInJob + 1);
    await queues.add(lane, payload, timeoutMs);
    expect(await job()).to.deep.equal(head);
    expect(await redis.get(payloadKey(chunk))).to.equal(encodePayload(payload.parts));
    expect(await redis.pttl(payloadKey(chunk))).to.be.within(1, timeoutMs);
  });

  it('leaves nothing in Redis when it is cancelled before a worker starts it', async () => {
    await queues.add(lane, payloadOf(1_000), timeoutMs);
    expect(await queues.depth(lane)).to.equal(1);
    queues.cancel(lane, chunk);
    await eventually(async () => expect(await queues.depth(lane)).to.equal(0));
    expect(await redis.exists(payloadKey(chunk), jobKey)).to.equal(0);
  });
});
