import { expect } from 'chai';
import { clearStuckStalledChecks } from '../../../worker/lanes/stalled-jobs.js';
import { eventually } from '../../support/eventually.js';
import { type LaneRig, laneRig, rigTimings, scoredBy } from '../../support/lane-rig.js';

const { stalledCheckMs, quietLookMs } = rigTimings;

describe('the check for stalled jobs', () => {
  let rig: LaneRig;
  /** Ends the chunks in flight. */
  let release: () => void;
  let scored: string[];

  beforeEach(async () => {
    scored = [];
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    rig = await laneRig(
      scoredBy(async (chunk) => {
        if (chunk === 'held') await released;
        scored.push(chunk);
        return { chunk, parts: [] };
      }),
    );
  });
  afterEach(async () => {
    release();
    await rig.close();
  });

  const nextCheck = () =>
    eventually(async () => expect(await rig.redis.pttl(rig.queue.toKey('stalled-check'))).to.be.above(0), 5_000);

  it("goes on after Redis's clock was set back, which makes its lock last for an hour", async () => {
    await rig.send('held');
    await nextCheck();
    await rig.redis.set(rig.queue.toKey('stalled-check'), 'a worker', 'PX', 60 * 60 * 1_000);
    await clearStuckStalledChecks(rig.redis, { partitions: 2, stalledCheckMs });
    await nextCheck();
    expect(await rig.redis.pttl(rig.queue.toKey('stalled-check'))).to.be.at.most(stalledCheckMs);
  });

  it('does not run in a lane without jobs in flight, and runs again with the next job', async () => {
    const before = await checks();
    await looks(3);
    expect(await checks()).to.equal(before);
    await rig.send('held');
    await nextCheck();
  });

  it('retries the job of a dead worker that took it in a quiet lane', async () => {
    await looks(1);
    await rig.worker.pause(true);
    await rig.send('taken');
    // As a worker takes a job. Its lock has expired already.
    await rig.redis.rpoplpush(rig.queue.toKey('wait'), rig.queue.toKey('active'));
    await rig.worker.resume();
    await eventually(() => expect(scored).to.deep.equal(['taken']), 2 * quietLookMs + 5_000);
  });

  const callsOf = async (command: string): Promise<number> => {
    const information = await rig.redis.info('commandstats');
    return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(information)?.[1] ?? 0);
  };
  /** Only BullMQ's check reads a set. */
  const checks = () => callsOf('smembers');
  /** Waits until the quiet lane was looked at so many times. */
  async function looks(times: number): Promise<void> {
    const before = await callsOf('llen');
    await eventually(async () => expect(await callsOf('llen')).to.be.at.least(before + times));
  }
});
