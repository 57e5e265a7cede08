import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startRedis } from '../../../scripts/servers/redis-server.js';
import { evictUnderPressure } from '../../../shared/latest-scores/eviction.js';
import { LatestRig } from './latest-rig.js';

describe('room for what only Redis has', () => {
  let rig: LatestRig;
  let stop: () => Promise<void>;

  beforeEach(async () => {
    const directory = await mkdtemp(join(tmpdir(), 'leadscore-room-'));
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

  const usedMemory = async () =>
    Number(/^used_memory:(\d+)/m.exec(await rig.redis.info('memory'))?.[1] ?? Number.NaN);

  it('is made by giving up newest scores, and nothing else, where four fifths are used', async () => {
    await rig.redis.config('SET', 'maxmemory', Math.round((await usedMemory()) / 0.9));
    expect(await evictUnderPressure(rig.redis)).to.equal(1);
    expect(await rig.redis.exists(rig.key)).to.equal(0);
    expect(await rig.quota.quota.usage(rig.counter)).to.deep.equal({ used: 1, leased: 0 });
  });

  it('is not made while less is used, nor where Redis has no limit', async () => {
    expect(await evictUnderPressure(rig.redis)).to.equal(0);
    await rig.redis.config('SET', 'maxmemory', Math.round((await usedMemory()) / 0.5));
    expect(await evictUnderPressure(rig.redis)).to.equal(0);
    expect((await rig.read('L-1')).scores).to.deep.equal([{ id: 'call.0000', score: 70 }]);
  });
});
