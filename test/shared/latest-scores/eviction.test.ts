import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startRedis } from '../../../scripts/servers/redis-server.js';
import { evictUnderPressure, expireOldScores } from '../../../shared/latest-scores/eviction.js';
import { freshDatabases } from '../../support/service/servers.js';
import { LatestRig } from './latest-rig.js';

describe('expireOldScores', () => {
  let rig: LatestRig;

  beforeEach(async () => {
    rig = new LatestRig((await freshDatabases()).redisUrl);
  });
  afterEach(() => rig.close());

  it('drops scores older than the limit and leads without a score, and keeps the epoch', async () => {
    const leads = Array.from({ length: 1_500 }, (_, row) => `L-${row}`);
    await rig.warm(...leads.slice(0, 1_000), 'new', 'never scored', '\n', '0');
    await rig.warm(...leads.slice(1_000));
    const rows = (crmIds: readonly string[]) => crmIds.map((crmId) => [crmId, 70] as const);
    await rig.score('a', rows([...leads.slice(0, 900), '\n', 'new']));
    await rig.score('b', rows(leads.slice(900)));
    await rig.score('c', rows(['new', '0']));

    expect(await expireOldScores(rig.redis, 'c')).to.equal(leads.length + 2);
    const { '': epoch, ...left } = await rig.redis.hgetall(rig.key);
    expect(left).to.deep.equal({ new: 'c.0000 70', 0: 'c.0001 70' });
    expect((await rig.read('new')).epoch).to.equal(epoch);
    expect(await expireOldScores(rig.redis, 'c')).to.equal(0);
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
    await rig.warm('L-1');
    await rig.score('call', [['L-1', 70]]);
  });
  afterEach(() => stop());

  const usedMemory = async () => Number(/^used_memory:(\d+)/m.exec(await rig.redis.info('memory'))?.[1] ?? Number.NaN);

  it('evicts latest scores, and nothing else, above four fifths of the memory limit', async () => {
    await rig.redis.config('SET', 'maxmemory', Math.round((await usedMemory()) / 0.9));
    expect(await evictUnderPressure(rig.redis)).to.equal(1);
    expect(await rig.redis.exists(rig.key)).to.equal(0);
    expect(await rig.quota.quota.usage(rig.counter)).to.deep.equal({ used: 1, leased: 0 });
  });

  it('evicts nothing below four fifths of the memory limit, or without a limit', async () => {
    expect(await evictUnderPressure(rig.redis)).to.equal(0);
    await rig.redis.config('SET', 'maxmemory', Math.round((await usedMemory()) / 0.5));
    expect(await evictUnderPressure(rig.redis)).to.equal(0);
    expect((await rig.read('L-1')).scores).to.deep.equal([{ id: 'call.0000', score: 70 }]);
  });
});
