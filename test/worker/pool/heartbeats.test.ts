import { expect } from 'chai';
import { everyTick } from '../../../shared/async/ticks.js';
import { Heartbeats } from '../../../worker/pool/heartbeats.js';
import { eventually } from '../../support/eventually.js';

const timings = { quietMs: 800, busyMs: 20 };

describe('Heartbeats', () => {
  let beats = 0;
  let lastBeatMs = 0;
  let ticks = 0;
  let heartbeats: Heartbeats;
  let endTicks: () => void;

  const forTicks = async (count: number): Promise<number> => {
    const [ticksBefore, beatsBefore] = [ticks, beats];
    await eventually(() => expect(ticks - ticksBefore).to.be.at.least(count));
    return (beats - beatsBefore) / (ticks - ticksBefore);
  };

  before(() => {
    endTicks = everyTick(timings.busyMs, () => {
      ticks += 1;
    });
    heartbeats = new Heartbeats({
      ...timings,
      beat: () => {
        beats += 1;
        lastBeatMs = performance.now();
      },
    });
  });

  after(() => endTicks());

  it('are sent from the start on, not before', async () => {
    await heartbeats.during(async () => undefined);
    expect(await forTicks(8)).to.equal(0);
    heartbeats.start();
    await eventually(() => expect(beats).to.be.greaterThan(0));
  });

  it('are sent at each tick while a chunk is in flight, and rarely when there was none', async () => {
    expect(await forTicks(20), 'without a chunk').to.be.at.most(0.5);
    let share = 0;
    await heartbeats.during(async () => {
      share = await forTicks(20);
    });
    expect(share, 'with a chunk in flight').to.be.at.least(0.9);
    await forTicks(2);
    expect(await forTicks(20), 'after the chunk').to.be.at.most(0.5);
  });

  it('precede a chunk that may block, when the last one is old', async () => {
    await forTicks(4);
    await eventually(() => expect(performance.now() - lastBeatMs).to.be.greaterThan(2 * timings.busyMs));
    const before = beats;
    let atBegin = 0;
    await heartbeats.during(async () => {
      atBegin = beats - before;
    });
    expect(atBegin).to.equal(1);
  });

  it('end no chunk with another result', async () => {
    const failed = heartbeats.during(() => Promise.reject(new Error('from the chunk')));
    expect(await failed.catch((error: Error) => error.message)).to.equal('from the chunk');
    expect(await heartbeats.during(async () => 7)).to.equal(7);
  });
});
