import { expect } from 'chai';
import { ShortCache } from '../../../api/scoring/workspace-cache.js';

/** A cache whose values are the number of the load, and what was loaded. */
function countingCache({ ttlMs = 60_000, capacity = 10 } = {}) {
  const loaded: string[] = [];
  const failing = new Set<string>();
  const cache = new ShortCache({
    ttlMs,
    capacity,
    load: async (key) => {
      const count = loaded.push(key);
      if (failing.has(key)) throw new Error(`${key} cannot be loaded`);
      return count;
    },
  });
  return { cache, loaded, failing };
}

describe('ShortCache', () => {
  it('loads a value once for all who ask at the same time, and remembers it', async () => {
    const { cache, loaded } = countingCache();
    expect(await Promise.all(['a', 'a', 'b'].map((key) => cache.get(key)))).to.deep.equal([1, 1, 2]);
    expect(await cache.get('a')).to.equal(1);
    expect(loaded).to.deep.equal(['a', 'b']);
  });

  it('loads it again when its time is over, or when it was forgotten', async () => {
    const short = countingCache({ ttlMs: 0 });
    expect([await short.cache.get('a'), await short.cache.get('a')]).to.deep.equal([1, 2]);
    const { cache } = countingCache();
    await Promise.all(['a', 'b'].map((key) => cache.get(key)));
    cache.forget('a');
    expect([await cache.get('a'), await cache.get('b')]).to.deep.equal([3, 2]);
    cache.clear();
    expect(await cache.get('b')).to.equal(4);
  });

  it('does not remember what failed', async () => {
    const { cache, failing } = countingCache();
    failing.add('a');
    const error = await cache.get('a').catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(Error);
    expect(cache.has('a')).to.equal(false);
    failing.clear();
    expect(await cache.get('a')).to.equal(2);
  });

  it('keeps no more than it has room for: what was loaded first goes', async () => {
    const { cache, loaded } = countingCache({ capacity: 2 });
    for (const key of ['a', 'b', 'c']) await cache.get(key);
    expect(['a', 'b', 'c'].map((key) => cache.has(key))).to.deep.equal([false, true, true]);
    await cache.get('b');
    expect(loaded).to.deep.equal(['a', 'b', 'c']);
  });
});
