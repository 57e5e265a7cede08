import { expect } from 'chai';
import { retryAtStart, UnusableServer } from '../../../shared/async/retry.js';
import { failureOf } from '../../support/failure-of.js';

describe('retryAtStart', () => {
  /** A step that fails with each of these errors in turn, and then succeeds. */
  function failing(...errors: readonly Error[]) {
    let times = 0;
    const step = async () => {
      const error = errors[times];
      times += 1;
      if (error !== undefined) throw error;
      return 'done';
    };
    return { step, times: () => times };
  }

  it('repeats a failing step until it succeeds', async () => {
    const { step, times } = failing(new Error('Redis is away'), new Error('Redis is full'));
    expect(await retryAtStart(step)).to.equal('done');
    expect(times()).to.equal(3);
  });

  it('throws UnusableServer and final errors at once', async () => {
    const { step, times } = failing(new Error('Redis is away'), new UnusableServer('another Redis'));
    expect((await failureOf(retryAtStart(step))).message).to.equal('another Redis');
    expect(times()).to.equal(2);
    const locked = failing(new TypeError('no such user'));
    const isFinal = (error: unknown) => error instanceof TypeError;
    expect((await failureOf(retryAtStart(locked.step, { isFinal }))).message).to.equal('no such user');
    expect(locked.times()).to.equal(1);
  });

  it('throws the last error of the step when its time is over', async () => {
    const { step, times } = failing(...['first', 'second', 'third'].map((text) => new Error(text)));
    expect((await failureOf(retryAtStart(step, { maxWaitMs: 150 }))).message).to.equal('second');
    expect(times()).to.equal(2);
  });
});
