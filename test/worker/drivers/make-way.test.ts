import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { expect } from 'chai';
import { asSingles } from '../../../worker/drivers/make-way.js';
import { type Steps, TimeSlices } from '../../../worker/drivers/time-slices.js';

const sliceMs = 12;
const turns = 20;

describe('slices of batches', () => {
  let slices: number;

  /** Each step is a slice. */
  function* longSteps(steps: number): Steps<void> {
    for (let step = 0; step < steps; step += 1) {
      const startMs = performance.now();
      while (performance.now() - startMs <= sliceMs);
      slices += 1;
      yield;
    }
  }

  beforeEach(() => {
    slices = 0;
  });

  /** The slices that run while a single takes its turns of the event loop. */
  async function slicesBesideSingle(): Promise<number> {
    const before = slices;
    for (let turn = 0; turn < turns; turn += 1) await turnOfTheLoop();
    return slices - before;
  }

  it('are one at a time, with pauses in which a single takes its turns of the event loop', async () => {
    const batches = Promise.all([1, 2].map(() => new TimeSlices().run(longSteps(2 * turns))));
    const beside = await asSingles(slicesBesideSingle);
    expect(beside, 'slices').to.be.below(turns);
    await batches;
    expect(slices).to.equal(4 * turns);
  }).timeout(10_000);

  it('do not pause for the single that they belong to', async () => {
    let pauses = 0;
    const startMs = performance.now();
    await asSingles(async () => {
      const timer = setInterval(() => {
        pauses += 1;
      }, 1);
      await new TimeSlices().run(longSteps(10));
      clearInterval(timer);
    });
    // A timer runs once between two slices; in a pause it would run several times.
    expect(pauses, `beats in ${performance.now() - startMs} ms`).to.be.at.most(11);
    expect(slices).to.equal(10);
  });
});
