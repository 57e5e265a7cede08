import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { closedLoop, openLoop } from '../../../scripts/load/loops.js';

describe('loops of a load', () => {
  it('closed: gives each call its number, and has as many calls in flight as callers', async () => {
    const made: number[] = [];
    let [inFlight, most] = [0, 0];
    await closedLoop(
      3,
      () => made.length >= 20,
      async (index) => {
        made.push(index);
        inFlight += 1;
        most = Math.max(most, inFlight);
        await pause(1);
        inFlight -= 1;
      },
    );
    expect(made).to.deep.equal(Array.from({ length: made.length }, (_, index) => index));
    expect(most).to.equal(3);
    expect(inFlight).to.equal(0);
  });

  for (const isExact of [false, true])
    it(`open${isExact ? ', exact' : ''}: calls at the planned times while no call has ended, and waits for all`, async () => {
      const due: number[] = [];
      let ended = 0;
      const startMs = performance.now();
      await openLoop({ gapMs: () => 5, isOver: () => due.length === 4, isExact }, async (dueMs) => {
        expect(performance.now()).to.be.at.least(Math.floor(dueMs - 1));
        due.push(dueMs);
        await pause(50);
        ended += 1;
      });
      expect(ended).to.equal(4);
      expect(due[0]).to.be.at.least(startMs);
      expect(due.map((dueMs) => Math.round(dueMs - (due[0] ?? 0)))).to.deep.equal([0, 5, 10, 15]);
    });

  for (const isExact of [false, true])
    it(`open${isExact ? ', exact' : ''}: lets the event loop run between calls that are late`, async () => {
      const iterationsAtCalls: number[] = [];
      const isOver = () => iterationsAtCalls.length === 3;
      let iterations = 0;
      const count = (): void => {
        iterations += 1;
        if (!isOver()) setImmediate(count);
      };
      setImmediate(count);
      await openLoop({ gapMs: () => 0, isOver, isExact }, async () => void iterationsAtCalls.push(iterations));
      expect(iterationsAtCalls).to.deep.equal([0, 1, 2]);
    });

  it('open: does not wait for a call that is due after the end', async () => {
    const due: number[] = [];
    const isOver = (dueMs: number): boolean => dueMs > (due[0] ?? dueMs) + 12;
    await openLoop({ gapMs: () => (due.length < 3 ? 5 : 60_000), isOver }, async (dueMs) => due.push(dueMs));
    expect(due).to.have.length(3);
  });

  it('open: ends with the error of a call, when the other calls have ended', async () => {
    let [made, ended] = [0, 0];
    const call = async (): Promise<void> => {
      made += 1;
      if (made === 3) throw new Error('the third call failed');
      await pause(20);
      ended += 1;
    };
    const failure = await openLoop({ gapMs: () => 1, isOver: () => false }, call).catch((error: Error) => error);
    expect(failure).to.have.property('message', 'the third call failed');
    expect(ended).to.equal(made - 1);
  });

  it('open: throws when more calls are in flight than allowed', async () => {
    let made = 0;
    const call = async (): Promise<void> => {
      made += 1;
      await new Promise(() => {});
    };
    const loop = openLoop({ gapMs: () => 0, isOver: () => false, maxInFlight: 5 }, call);
    expect(await loop.catch((error: Error) => error.message)).to.include('5 calls are in flight');
    expect(made).to.equal(5);
  });
});
