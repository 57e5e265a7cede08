import { expect } from 'chai';
import { expireOldScores } from '../../../shared/latest-scores/eviction.js';
import { freshDatabases } from '../../support/service/servers.js';
import { LatestRig } from './latest-rig.js';

describe('newest scores that are older than predictions are kept', () => {
  let rig: LatestRig;

  beforeEach(async () => {
    rig = new LatestRig((await freshDatabases()).redisUrl);
  });
  afterEach(() => rig.close());

  it('are dropped, and their leads with them; newer ones stay', async () => {
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
