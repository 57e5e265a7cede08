import { setTimeout as wait } from 'node:timers/promises';
import { expect } from 'chai';
import { settledOrThrow, TimedOut, withSignal, withTimeout } from '../../../shared/async/timeouts.js';
import { failureOf } from '../../support/failure-of.js';

const never = new Promise<never>(() => undefined);

describe('withTimeout', () => {
  it('gives the result or the error of work that ends in time', async () => {
    expect(await withTimeout(5_000, wait(1, 'done'))).to.equal('done');
    const failing = withTimeout(5_000, Promise.reject(new Error('refused')));
    expect(await failureOf(failing)).to.have.property('message', 'refused');
  });

  it('throws TimedOut, or the given error, when work is late', async () => {
    expect(await failureOf(withTimeout(5, never))).to.be.instanceOf(TimedOut);
    const late = new Error('too late');
    expect(await failureOf(withTimeout(5, never, () => late))).to.equal(late);
  });
});

describe('withSignal', () => {
  it('gives the result of work that ends before the signal is aborted', async () => {
    expect(await withSignal(AbortSignal.timeout(5_000), wait(1, 'done'))).to.equal('done');
  });

  it('throws the reason of the signal when it is aborted first', async () => {
    const reason = new Error('stopping');
    expect(await failureOf(withSignal(AbortSignal.abort(reason), never))).to.equal(reason);
    const stopping = new AbortController();
    const waiting = failureOf(withSignal(stopping.signal, never));
    stopping.abort(reason);
    expect(await waiting).to.equal(reason);
  });
});

describe('settledOrThrow', () => {
  it('throws the first error in order after all works have ended', async () => {
    let ended = 0;
    const works = ['slow', 'fast'].map(async (name, index) => {
      await wait(5 - 4 * index);
      ended += 1;
      throw new Error(name);
    });
    expect(await failureOf(settledOrThrow(works))).to.have.property('message', 'slow');
    expect(ended).to.equal(2);
  });
});
