import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startRedis } from '../../../scripts/servers/redis/redis-server.js';
import { callIdFloor, callIdGenerator } from '../../../shared/contract/identifiers.js';
import { evictUnderPressure, expireOldScores } from '../../../shared/latest-scores/eviction.js';
import { freshDatabases } from '../../support/service/servers.js';
import { LatestRig } from './latest-rig.js';

const nowMs = Date.UTC(2026, 1, 10);

describe('expireOldScores', () => {
  let rig: LatestRig;

  beforeEach(async () => {
    rig = new LatestRig((await freshDatabases()).redisUrl);
  });
  afterEach(() => rig.close());

  it('drops scores older than the limit, and keeps the epoch and later scores of the same leads', async () => {
    const newCallId = callIdGenerator();
    const [old, next, later] = [0, 1, 1_000].map((ms) => newCallId(nowMs + ms, rig.organisationId)) as [
      string,
      string,
      string,
    ];
    const crmIds = Array.from({ length: 1_500 }, (_, row) => `L-${row}`);
    const rows = (names: readonly string[]) => names.map((crmId) => [crmId, 70, 3] as const);
    await rig.warm();
    await rig.score(old, rows([...crmIds.slice(0, 900), '\n', 'new']));
    await rig.score(next, rows(crmIds.slice(900)));
    await rig.score(later, rows(['new', '0']), 'mdl_B');
    const epoch = await rig.redis.hget(rig.key, '');

    expect(await expireOldScores(rig.redis, (organisationId) => callIdFloor(nowMs + 500, organisationId))).to.equal(
      crmIds.length + 2,
    );
    expect(await rig.read(['new', '0', '\n', 'L-0', 'L-1499'])).to.deep.equal([
      { latestId: `${later}.0000`, own: undefined },
      { latestId: `${later}.0001`, own: undefined },
      ...[undefined, undefined, undefined],
    ]);
    expect(await rig.redis.hget(rig.key, '')).to.equal(epoch);
    expect((await rig.readWithGaps(['new'], 'mdl_B'))[0]).to.have.property('gaps', 3);
    expect(await expireOldScores(rig.redis, (organisationId) => callIdFloor(nowMs + 500, organisationId))).to.equal(0);
  });
});

describe('evictUnderPressure', () => {
  let rig: LatestRig;
  let stop: () => Promise<void>;

  beforeEach(async () => {
    const directory = await mkdtemp(join(tmpdir(), 'leadscore-eviction-'));
    const redis = await startRedis({ directory });
    rig = new LatestRig(redis.url);
    stop = async () => {
      rig.close();
      await redis.stop();
      await rm(directory, { recursive: true });
    };
    await rig.warm();
    await rig.score(callIdGenerator()(nowMs, rig.organisationId), [['L-1', 70]]);
  });
  afterEach(() => stop());

  const usedMemory = async () => Number(/^used_memory:(\d+)/m.exec(await rig.redis.info('memory'))?.[1] ?? Number.NaN);

  it('evicts the largest organisation above four fifths of the memory limit, and neither others nor counters', async () => {
    const large = new LatestRig(rig.quota.redisUrl);
    try {
      await large.warm();
      for (let call = 0; call < 20; call += 1)
        await large.score(
          callIdGenerator()(nowMs, large.organisationId),
          Array.from({ length: 1_000 }, (_, row) => [`L-${call}-${row}`, 70] as const),
        );
      // Above the mark by less than the large hash takes.
      await rig.redis.config('SET', 'maxmemory', Math.round((await usedMemory()) / 0.82));
      expect(await evictUnderPressure(rig.redis)).to.equal(1);
      expect(await rig.redis.exists(large.key)).to.equal(0);
      expect((await rig.read(['L-1']))[0]?.own?.score).to.equal(70);
      expect(await large.quota.quota.usage(large.counter)).to.deep.equal({ used: 20_000, leased: 0 });
    } finally {
      large.close();
    }
  });

  it('evicts every organisation when that is needed, and no counters', async () => {
    await rig.redis.config('SET', 'maxmemory', Math.round((await usedMemory()) / 1.5));
    expect(await evictUnderPressure(rig.redis)).to.equal(1);
    expect(await rig.redis.exists(rig.key)).to.equal(0);
    expect(await rig.quota.quota.usage(rig.counter)).to.deep.equal({ used: 1, leased: 0 });
  });

  it('evicts nothing below four fifths of the memory limit, or without a limit', async () => {
    expect(await evictUnderPressure(rig.redis)).to.equal(0);
    await rig.redis.config('SET', 'maxmemory', Math.round((await usedMemory()) / 0.5));
    expect(await evictUnderPressure(rig.redis)).to.equal(0);
    expect((await rig.read(['L-1']))[0]?.own?.score).to.equal(70);
  });
});
