import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect } from 'chai';
import { Batcher, type BatcherOptions } from '../../../shared/async/batcher.js';
import { beatsDuring } from '../../support/beats.js';

/** A batcher that answers each item with the number of its batch, and notes the batches. */
function numbered(options: Partial<BatcherOptions<string, string>> = {}) {
  const sent: string[][] = [];
  const run = async (items: readonly string[], first: string) => {
    expect(items[0]).to.equal(first);
    sent.push([...items]);
    const batch = sent.length;
    return items.map((item) => `${item} in ${batch}`);
  };
  return { sent, batcher: new Batcher<string, string>({ run, ...options }) };
}

/** A batcher whose batches the test ends. */
function held(options: Partial<BatcherOptions<string, string>> = {}) {
  const sent: string[][] = [];
  const ends: (() => void)[] = [];
  const run = async (items: readonly string[]) => {
    sent.push([...items]);
    await new Promise<void>((resolve) => ends.push(resolve));
    return items;
  };
  return { sent, ends, batcher: new Batcher<string, string>({ run, ...options }) };
}

const iterations = async () => {
  for (let iteration = 0; iteration < 4; iteration += 1) await nextIteration();
};

describe('Batcher', () => {
  it('runs the items of one iteration together, each key by itself, in the order of arrival', async () => {
    const { sent, batcher } = numbered();
    const replies = Promise.all([...'abcde'].map((item) => batcher.add('ace'.includes(item) ? 'one' : 'two', item)));
    expect(await replies).to.deep.equal(['a in 1', 'b in 2', 'c in 1', 'd in 2', 'e in 1']);
    expect(sent).to.deep.equal([
      ['a', 'c', 'e'],
      ['b', 'd'],
    ]);
  });

  it('includes items that are added in microtasks of the iteration, and none of the next iteration', async () => {
    const { sent, batcher } = numbered();
    const first = batcher.add('key', 'a');
    for (let wait = 0; wait < 10; wait += 1) await undefined;
    const second = batcher.add('key', 'b');
    await nextIteration();
    const third = batcher.add('key', 'c');
    await Promise.all([first, second, third]);
    expect(sent).to.deep.equal([['a', 'b'], ['c']]);
  });

  it('does not wait for the batch before when there is no limit in flight', async () => {
    const { sent, ends, batcher } = held();
    const replies = [batcher.add('key', 'a')];
    await iterations();
    replies.push(batcher.add('key', 'b'));
    await iterations();
    expect(sent).to.deep.equal([['a'], ['b']]);
    for (const end of ends) end();
    expect(await Promise.all(replies)).to.deep.equal(['a', 'b']);
  });

  it('runs a batch when as many items wait as are in flight, if it gathers', async () => {
    const { sent, batcher } = held({ gathers: true });
    for (const item of 'abcdefgh') {
      void batcher.add('key', item);
      await iterations();
    }
    expect(sent).to.deep.equal([['a'], ['b'], ['c', 'd'], ['e', 'f', 'g', 'h']]);
  });

  it('runs gathered items when the batches in flight end', async () => {
    const { sent, ends, batcher } = held({ gathers: true });
    for (const item of 'abc') {
      void batcher.add('key', item);
      await iterations();
    }
    expect(sent).to.deep.equal([['a'], ['b']]);
    ends[0]?.();
    await iterations();
    expect(sent).to.deep.equal([['a'], ['b'], ['c']]);
  });

  it('counts an item as in flight until it ends outside the batcher', async () => {
    const ended = new Map<string, () => void>();
    const endOf = (item: string) => new Promise<void>((resolve) => void ended.set(item, resolve));
    const { sent, batcher } = numbered({ gathers: true, endOf });
    await Promise.all([batcher.add('key', 'a'), batcher.add('key', 'b')]);
    void batcher.add('key', 'c');
    await iterations();
    expect(sent).to.deep.equal([['a', 'b']]);
    ended.get('a')?.();
    await iterations();
    expect(sent).to.deep.equal([['a', 'b'], ['c']]);
  });

  it('runs a full batch without waiting, if it gathers', async () => {
    const { sent, batcher } = held({ gathers: true, maxItems: 3 });
    for (const item of 'abcdefgh') void batcher.add('key', item);
    await iterations();
    expect(sent).to.deep.equal([
      ['a', 'b', 'c'],
      ['d', 'e', 'f'],
    ]);
  });

  it('counts items in flight for each key by itself', async () => {
    const { sent, batcher } = held({ gathers: true });
    void batcher.add('one', 'a');
    void batcher.add('one', 'b');
    await iterations();
    void batcher.add('two', 'c');
    await iterations();
    expect(sent).to.deep.equal([['a', 'b'], ['c']]);
  });

  it('does not let a batch that runs longer than the hold time delay the next', async () => {
    const { sent, ends, batcher } = held({ gathers: true, maxHoldMs: 60 });
    void batcher.add('key', 'slow');
    void batcher.add('key', 'slow too');
    await iterations();
    void batcher.add('key', 'next');
    const beats = await beatsDuring(async () => {
      while (sent.length < 2) await nextIteration();
    });
    expect(beats, 'of 50 ms').to.be.below(20);
    void batcher.add('key', 'third');
    await iterations();
    ends[0]?.();
    void batcher.add('key', 'fourth');
    await iterations();
    expect(sent, 'the end of the slow batch is not counted again').to.deep.equal([
      ['slow', 'slow too'],
      ['next'],
      ['third'],
    ]);
  });

  it('cuts batches at the limit of items', async () => {
    const { sent, batcher } = numbered({ maxItems: 2 });
    const replies = await Promise.all([...'abcde'].map((item) => batcher.add('key', item)));
    expect(sent).to.deep.equal([['a', 'b'], ['c', 'd'], ['e']]);
    expect(replies.at(-1)).to.equal('e in 3');
  });

  it('cuts batches at the limit of size, and runs an item above it alone', async () => {
    const { sent, batcher } = numbered({ sizeOf: (item) => item.length / 10 });
    const items = ['a'.repeat(6), 'b'.repeat(4), 'c', 'd'.repeat(20), 'e'];
    await Promise.all(items.map((item) => batcher.add('key', item)));
    expect(sent.map((batch) => batch.map((item) => item.length))).to.deep.equal([[6, 4], [1], [20], [1]]);
  });

  it('rejects every item of a batch that fails, and no item of another', async () => {
    const failure = new Error('no connection');
    const batcher = new Batcher<string, string>({
      run: async (items, first) => {
        if (first === 'a') throw failure;
        return items;
      },
    });
    const added = [batcher.add('bad', 'a'), batcher.add('good', 'b'), batcher.add('bad', 'c')];
    expect(await Promise.allSettled(added)).to.deep.equal([
      { status: 'rejected', reason: failure },
      { status: 'fulfilled', value: 'b' },
      { status: 'rejected', reason: failure },
    ]);
    expect(await batcher.add('bad', 'd')).to.equal('d');
  });

  it('rejects the one item whose result is an Error', async () => {
    const refused = new Error('refused');
    const batcher = new Batcher<string, string>({
      run: async (items) => items.map((item) => (item === 'b' ? refused : item)),
    });
    const settled = await Promise.allSettled([...'abc'].map((item) => batcher.add('key', item)));
    expect(settled).to.deep.equal([
      { status: 'fulfilled', value: 'a' },
      { status: 'rejected', reason: refused },
      { status: 'fulfilled', value: 'c' },
    ]);
  });

  for (const [amount, results] of Object.entries({ few: ['x'], many: ['x', 'y', 'z'] }))
    it(`rejects every item of a batch that got too ${amount} results`, async () => {
      const batcher = new Batcher<string, string>({ run: async () => results });
      const settled = await Promise.allSettled([batcher.add('key', 'a'), batcher.add('key', 'b')]);
      for (const outcome of settled) expect(outcome).to.have.property('reason').that.is.instanceOf(TypeError);
    });
});
