import { expect } from 'chai';
import { eachAtOnce } from '../../../shared/async/at-once.js';
import { failureOf } from '../../support/failure-of.js';

describe('eachAtOnce', () => {
  it('does every item, and as many at once as its limit', async () => {
    let running = 0;
    let most = 0;
    const done: number[] = [];
    await eachAtOnce([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
      done.push(item);
    });
    expect(most).to.equal(3);
    expect(done.sort()).to.deep.equal([1, 2, 3, 4, 5, 6, 7]);
  });

  it('takes the next items while one is slow', async () => {
    const done: string[] = [];
    let unblock = (): void => undefined;
    await eachAtOnce(['slow', 'a', 'b', 'last'], 2, async (item) => {
      if (item === 'slow')
        await new Promise<void>((resolve) => {
          unblock = resolve;
        });
      done.push(item);
      if (item === 'last') unblock();
    });
    expect(done).to.deep.equal(['a', 'b', 'last', 'slow']);
  });

  it('does the others when more items fail than run at once, and throws the first error', async () => {
    const done: number[] = [];
    const failure = await failureOf(
      eachAtOnce([1, 2, 3, 4, 5], 2, async (item) => {
        if (item <= 3) throw new Error(`item ${item}`);
        done.push(item);
      }),
    );
    expect(failure).to.have.property('message', 'item 1');
    expect(done).to.deep.equal([4, 5]);
  });

  it('throws the error of its items, after the work that has begun', async () => {
    const done: number[] = [];
    async function* items() {
      yield 1;
      throw new Error('no more');
    }
    const failure = await failureOf(
      eachAtOnce(items(), 2, async (item) => {
        await new Promise(setImmediate);
        done.push(item);
      }),
    );
    expect(failure).to.have.property('message', 'no more');
    expect(done).to.deep.equal([1]);
  });
});
