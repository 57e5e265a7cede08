import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { Registry } from 'prom-client';
import { LaneQueues } from '../../../api/dispatch/lane-queues.js';
import { readBacklogs } from '../../../shared/messages/backlog.js';
import { laneQueueName, messageVersion, type OutgoingPayload } from '../../../shared/messages/score-job.js';
import { createLogger } from '../../../shared/process/logger.js';
import { connectionReady, connectRedis, type Redis } from '../../../shared/redis/connect.js';
import { backlogKey, partitionPrefix } from '../../../shared/redis/keys.js';
import { WorkerRegister } from '../../../shared/redis/worker-register.js';
import { observePool } from '../../../worker/pool/metrics.js';
import { noCounts } from '../../../worker/pool/worker-counts.js';
import { measureBacklogs } from '../../../worker/upkeep/backlog.js';
import { freshDatabases } from '../../support/service/servers.js';

const partitions = 2;
const logger = createLogger('silent', 'test');
const nothing = { backlogSeconds: 0, oldestChunkSeconds: 0 };

describe('the backlogs of the lanes', () => {
  let redis: Redis;
  let queues: LaneQueues;

  beforeEach(async () => {
    redis = connectRedis({ url: (await freshDatabases()).redisUrl, name: 'test', kind: 'commands', logger });
    await connectionReady(redis);
    queues = new LaneQueues(redis, partitions, logger);
  });
  afterEach(async () => {
    await queues.close();
    redis.disconnect();
  });

  const payloadOf = (chunk: string, partition: number): OutgoingPayload => ({
    ...{ chunk, partition, gateway: 'gw', organisation: 'org', model: 'mdl', version: '1' },
    parts: [],
  });
  const send = async (count: number, heldMs = 0) => {
    for (let index = 0; index < count; index += 1)
      await queues.add('batches', payloadOf(`c-${index}`, index % partitions), 60_000, heldMs);
  };
  /** Makes a chunk older than it is, as a job of this or another message version. */
  const age = (chunk: string, ms: number, version = messageVersion, partition = 0) =>
    redis.hset(
      `${partitionPrefix(partition)}:${laneQueueName('batches', version)}:${chunk}`,
      'timestamp',
      Date.now() - ms,
    );
  /** Makes the last measurement older than it is. */
  const measuredBefore = async (ms: number) =>
    redis.hset(backlogKey, 'measured_at_ms', Number(await redis.hget(backlogKey, 'measured_at_ms')) - ms);

  it('are 0 without chunks, and unknown before the first measurement', async () => {
    expect(await readBacklogs(redis)).to.equal(undefined);
    await measureBacklogs(redis, partitions);
    expect(await readBacklogs(redis)).to.deep.equal({ singles: nothing, batches: nothing, bulk: nothing });
    expect(await redis.pttl(backlogKey)).to.be.within(25_000, 30_000);
  });

  it('are the age of the oldest chunk of a lane that finishes none', async () => {
    await send(5);
    await age('c-1', 42_000, messageVersion, 1);
    await measureBacklogs(redis, partitions);
    await measuredBefore(4_000);
    const { batches, singles } = await measureBacklogs(redis, partitions);
    expect(batches.oldestChunkSeconds).to.be.closeTo(42, 1);
    expect(batches.backlogSeconds).to.be.closeTo(42, 1);
    expect(singles).to.deep.equal(nothing);
  });

  it('are the waiting chunks by the rate at which a busy lane finishes chunks', async () => {
    await send(30);
    await measureBacklogs(redis, partitions);
    for (let index = 0; index < 20; index += 1) queues.cancel('batches', payloadOf(`c-${index}`, index % partitions));
    await pause(200);
    await measuredBefore(4_000);
    // 20 chunks in some 4.2 s leave 10, which take half of that.
    const { backlogSeconds } = (await measureBacklogs(redis, partitions)).batches;
    expect(backlogSeconds).to.be.within(2, 3);
  });

  it('contain the last long wait in a gateway', async () => {
    await send(1, 8_000);
    const { batches, singles } = await measureBacklogs(redis, partitions);
    expect(batches.oldestChunkSeconds).to.be.within(8, 9);
    expect(batches.backlogSeconds).to.be.within(8, 9);
    expect(singles).to.deep.equal(nothing);
  });

  it('contain chunks of other message versions, and of partitions that other processes know', async () => {
    const other = messageVersion + 7;
    await new WorkerRegister(redis, 'batches', other).renew({ id: 'other', partitions: 4 });
    await redis.lpush(`${partitionPrefix(3)}:${laneQueueName('batches', other)}:wait`, 'old');
    await age('old', 9_000, other, 3);
    expect((await measureBacklogs(redis, partitions)).batches.oldestChunkSeconds).to.be.closeTo(9, 1);
  });

  it('are metrics of each pool, which are left out while no pool measures', async () => {
    const registry = new Registry();
    const counted = { wantedCount: 0, readyCount: 0, deathCount: 0, counts: noCounts };
    const pools = { singles: counted, batches: counted, bulk: counted };
    const metrics = observePool(registry, { pools, partitions, redis });
    try {
      const lines = async () =>
        (await registry.metrics())
          .split('\n')
          .filter((line) => /^leadscore_(backlog|oldest_chunk)_seconds\{/.test(line));
      expect(await lines()).to.deep.equal([]);
      await send(1);
      await age('c-0', 42_000);
      await measureBacklogs(redis, partitions);
      const shown = await lines();
      expect(shown).to.have.length(6);
      expect(shown.join('\n'))
        .to.match(/leadscore_backlog_seconds\{lane="batches"\} 4[12]/)
        .and.match(/leadscore_oldest_chunk_seconds\{lane="batches"\} 4[12]/)
        .and.include('leadscore_backlog_seconds{lane="singles"} 0');
      await redis.del(backlogKey);
      expect(await lines()).to.deep.equal([]);
    } finally {
      await metrics.stop();
    }
  });
});
