import { once } from 'node:events';
import { expect } from 'chai';
import { closeWorker } from '../../../worker/lanes/lane-worker.js';
import { type LaneRig, laneRig, scoredBy } from '../../support/lane-rig.js';

describe('a BullMQ worker that is closed', () => {
  let rig: LaneRig;
  let finish: () => void;

  beforeEach(async () => {
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    rig = await laneRig(scoredBy((chunk) => finished.then(() => ({ chunk, parts: [] }))));
    const active = once(rig.worker, 'active');
    await rig.send('one');
    await active;
  });
  afterEach(async () => {
    finish();
    await rig.close();
  });

  it('ends the job in flight', async () => {
    let ended = 0;
    rig.worker.on('completed', () => {
      ended += 1;
    });
    const closing = closeWorker(rig.worker, rig.connection);
    finish();
    await closing;
    expect(ended).to.equal(1);
  });

  it('does not wait for its job when the connection to Redis is lost meanwhile', async () => {
    const closing = closeWorker(rig.worker, rig.connection);
    rig.connection.disconnect(true);
    await closing;
  });

  it('does not wait for its job while Redis is away', async () => {
    rig.connection.disconnect();
    await closeWorker(rig.worker, rig.connection);
  });
});
