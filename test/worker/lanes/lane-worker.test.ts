import { once } from 'node:events';
import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { type LaneRig, laneRig, scoredBy } from '../../support/lane-rig.js';

const most = 3;

describe('a lane worker', () => {
  let rig: LaneRig;
  let begun: string[];
  /** Ends the chunks whose names begin with `long`. */
  let release: () => void;

  beforeEach(async () => {
    begun = [];
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const score = async (chunk: string) => {
      begun.push(chunk);
      if (chunk.startsWith('long')) await released;
      return { chunk, parts: [] };
    };
    rig = await laneRig(scoredBy(score), { most });
  });
  afterEach(async () => {
    release();
    await rig.close();
  });

  it('takes one chunk at a time while none takes long', async () => {
    const ended = once(rig.worker, 'completed');
    await rig.send('short');
    await ended;
    expect(rig.worker.concurrency).to.equal(1);
  });

  it('lets no chunk wait for one that takes long, however many have come before', async () => {
    for (const round of [1, 2]) {
      await rig.send(`long ${round}`);
      await eventually(() => expect(begun).to.include(`long ${round}`));
      await rig.send(`short ${round}`);
      await eventually(() => expect(begun).to.include(`short ${round}`));
    }
  });

  it('has no more than so many in hand, takes up the next when one ends, and then one at a time again', async () => {
    for (let count = 1; count <= most; count += 1) await rig.send(`long ${count}`);
    await eventually(() => expect(begun).to.have.lengthOf(most));
    await rig.send('next');
    expect(await rig.queue.getActiveCount()).to.equal(most);
    expect(await rig.queue.getWaitingCount()).to.equal(1);
    release();
    await eventually(() => expect(begun).to.include('next'));
    await eventually(() => expect(rig.worker.concurrency).to.equal(1));
    await rig.send('last');
    await eventually(() => expect(begun).to.include('last'));
  });

  it('waits for the chunks that take long when it is closed, and takes no further one', async () => {
    await rig.send('long');
    await eventually(() => expect(rig.worker.concurrency).to.equal(most));
    const closed = rig.worker.close();
    await rig.send('late');
    release();
    await closed;
    expect(begun).to.deep.equal(['long']);
    expect(await rig.queue.getActiveCount()).to.equal(0);
    expect(await rig.queue.getWaitingCount()).to.equal(1);
  });
});
