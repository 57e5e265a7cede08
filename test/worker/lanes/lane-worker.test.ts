import { expect } from 'chai';
import { laneConcurrency } from '../../../worker/lanes/lane-worker.js';
import { eventually } from '../../support/eventually.js';
import { type LaneRig, laneRig, scoredBy } from '../../support/lane-rig.js';

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
    rig = await laneRig(scoredBy(score));
  });
  afterEach(async () => {
    release();
    await rig.close();
  });

  it('runs a chunk while another one takes long', async () => {
    await rig.send('long');
    await eventually(() => expect(begun).to.deep.equal(['long']));
    for (const short of ['short 1', 'short 2']) {
      await rig.send(short);
      await eventually(() => expect(begun).to.include(short));
    }
  });

  it('has two chunks in flight at most, and takes the next when one ends', async () => {
    for (let count = 1; count <= laneConcurrency; count += 1) await rig.send(`long ${count}`);
    await eventually(() => expect(begun).to.have.lengthOf(laneConcurrency));
    await rig.send('next');
    expect(await rig.queue.getActiveCount()).to.equal(laneConcurrency);
    expect(await rig.queue.getWaitingCount()).to.equal(1);
    release();
    await eventually(() => expect(begun).to.include('next'));
  });

  it('ends the chunks in flight when it is closed, and takes no further one', async () => {
    for (let count = 1; count <= laneConcurrency; count += 1) await rig.send(`long ${count}`);
    await eventually(() => expect(begun).to.have.lengthOf(laneConcurrency));
    const closed = rig.worker.close();
    await rig.send('late');
    release();
    await closed;
    expect(begun).not.to.include('late');
    expect(await rig.queue.getActiveCount()).to.equal(0);
    expect(await rig.queue.getWaitingCount()).to.equal(1);
  });
});
