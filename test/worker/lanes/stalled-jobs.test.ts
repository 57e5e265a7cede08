import { expect } from 'chai';
import { keepLookingForStalled, lookForStalledMs } from '../../../worker/lanes/stalled-jobs.js';
import { eventually } from '../../support/eventually.js';
import { type LaneRig, laneRig, scoredBy } from '../../support/lane-rig.js';

describe('the look for stalled jobs', () => {
  let rig: LaneRig;

  beforeEach(async () => {
    rig = await laneRig(scoredBy(async (chunk) => ({ chunk, parts: [] })));
  });
  afterEach(() => rig.close());

  it("goes on when Redis's clock is set back, and would keep a turn for as long", async () => {
    const turn = rig.queue.toKey('stalled-check');
    const nextTurn = () => eventually(async () => expect(await rig.redis.pttl(turn)).to.be.above(0), 5_000);
    await nextTurn();
    await rig.redis.set(turn, 'a worker', 'PX', 60 * 60 * 1_000);
    await keepLookingForStalled(rig.redis);
    await nextTurn();
    expect(await rig.redis.pttl(turn)).to.be.at.most(lookForStalledMs);
  });
});
