import { expect } from 'chai';
import { clearStuckStalledChecks } from '../../../worker/lanes/stalled-jobs.js';
import { eventually } from '../../support/eventually.js';
import { type LaneRig, laneRig, rigTimings, scoredBy } from '../../support/lane-rig.js';

const { stalledCheckMs } = rigTimings;

describe('the check for stalled jobs', () => {
  let rig: LaneRig;

  beforeEach(async () => {
    rig = await laneRig(scoredBy(async (chunk) => ({ chunk, parts: [] })));
  });
  afterEach(() => rig.close());

  it("goes on after Redis's clock was set back, which makes its lock last for an hour", async () => {
    const lock = rig.queue.toKey('stalled-check');
    const nextCheck = () => eventually(async () => expect(await rig.redis.pttl(lock)).to.be.above(0), 5_000);
    await nextCheck();
    await rig.redis.set(lock, 'a worker', 'PX', 60 * 60 * 1_000);
    await clearStuckStalledChecks(rig.redis, { partitions: 2, stalledCheckMs });
    await nextCheck();
    expect(await rig.redis.pttl(lock)).to.be.at.most(stalledCheckMs);
  });
});
