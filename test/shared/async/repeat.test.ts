import { expect } from 'chai';
import { repeatEvery } from '../../../shared/async/repeat.js';
import { eventually } from '../../support/eventually.js';

const everyMs = 5;

/** A work whose runs the test ends. */
function heldWork() {
  const ends: (() => void)[] = [];
  const work = (): Promise<void> => new Promise((resolve) => ends.push(resolve));
  return { work, ends };
}

describe('repeatEvery', () => {
  it('begins at once, and begins the next run only after the end of the one in flight', async () => {
    const { work, ends } = heldWork();
    const repeated = repeatEvery(everyMs, work);
    expect(ends).to.have.length(1);
    let runs = 0;
    const beside = repeatEvery(everyMs, async () => {
      runs += 1;
    });
    await eventually(() => expect(runs).to.be.greaterThan(4));
    expect(ends).to.have.length(1);
    ends[0]?.();
    await eventually(() => expect(ends).to.have.length(2));
    ends[1]?.();
    await Promise.all([repeated.stop(), beside.stop()]);
  });

  it('waits at the stop for the run in flight, and begins no other', async () => {
    const { work, ends } = heldWork();
    const repeated = repeatEvery(everyMs, work);
    let hasStopped = false;
    const stopping = repeated.stop().then(() => {
      hasStopped = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(hasStopped).to.equal(false);
    ends[0]?.();
    await stopping;
    expect(ends).to.have.length(1);
  });

  it('stops within the limit when a run does not end', async () => {
    const repeated = repeatEvery(everyMs, heldWork().work);
    await repeated.stop();
  });
});
