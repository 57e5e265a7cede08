import { expect } from 'chai';
import { retryAtStart, UnusableServer } from '../../../shared/process/start-step.js';
import { failureOf } from '../../support/failure-of.js';

describe('a step of a start', () => {
  /** A step that fails with each of these in turn, and is done after that. */
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

  it('is tried again until it is done', async () => {
    const { step, times } = failing(new Error('Redis is away'), new Error('Redis is full'));
    expect(await retryAtStart(step)).to.equal('done');
    expect(times()).to.equal(3);
  });

  it('is not tried again where waiting mends nothing', async () => {
    const { step, times } = failing(new Error('Redis is away'), new UnusableServer('another Redis'));
    expect((await failureOf(retryAtStart(step))).message).to.equal('another Redis');
    expect(times()).to.equal(2);
    const locked = failing(new TypeError('no such user'));
    const isFinal = (error: unknown) => error instanceof TypeError;
    expect((await failureOf(retryAtStart(locked.step, { isFinal }))).message).to.equal('no such user');
    expect(locked.times()).to.equal(1);
  });

  it('fails with what it failed with last when its time is over', async () => {
    const { step, times } = failing(...['first', 'second', 'third', 'fourth'].map((text) => new Error(text)));
    expect((await failureOf(retryAtStart(step, { maxWaitMs: 400 }))).message).to.equal('second');
    expect(times()).to.equal(2);
  });
});
