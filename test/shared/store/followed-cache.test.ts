import { expect } from 'chai';
import { FollowedCache } from '../../../shared/store/connection/followed-cache.js';
import { failureOf } from '../../support/failure-of.js';

interface Read {
  readonly number: number;
}

const longMs = 60_000;

/** A cache that numbers its reads. */
function cacheWith(options: { isFollowing?: () => boolean; unfollowedMs?: number; bytes?: number } = {}) {
  const { bytes = 1, ...others } = options;
  const state = { reads: 0, failing: false };
  const cache = new FollowedCache<Read>({
    read: async () => {
      if (state.failing) throw new Error('no primary');
      state.reads += 1;
      return { number: state.reads };
    },
    maxBytes: 100,
    bytesOf: () => bytes,
    ...others,
  });
  const read = async (key = 'a') => (await cache.get(key))?.number;
  return { cache, state, read };
}

describe('FollowedCache', () => {
  it('reads a key once while the change log is followed, and again after it was forgotten', async () => {
    const { cache, read } = cacheWith({ isFollowing: () => true, unfollowedMs: 0 });
    expect([await read(), await read()]).to.deep.equal([1, 1]);
    expect(await read('b')).to.equal(2);
    cache.forget('a');
    expect([await read(), await read('b')]).to.deep.equal([3, 2]);
    cache.clear();
    expect([await read(), await read('b')]).to.deep.equal([4, 5]);
  });

  it('reads an entry again that is older than its limit while the log is not followed', async () => {
    let isFollowing = true;
    const old = cacheWith({ isFollowing: () => isFollowing, unfollowedMs: -longMs });
    const young = cacheWith({ isFollowing: () => isFollowing, unfollowedMs: longMs });
    for (const { read } of [old, young]) expect(await read()).to.equal(1);
    isFollowing = false;
    expect([await old.read(), await old.read()]).to.deep.equal([2, 3]);
    expect([await young.read(), await young.read()]).to.deep.equal([1, 1]);
    isFollowing = true;
    expect([await old.read(), await old.read()]).to.deep.equal([3, 3]);
  });

  it('does not cache a read that began before the key was forgotten', async () => {
    const reads: ((value: Read) => void)[] = [];
    const cache = new FollowedCache<Read>({
      read: () => new Promise((resolve) => reads.push(resolve)),
      maxBytes: 100,
      bytesOf: () => 1,
      isFollowing: () => true,
    });
    const waiting = cache.get('a');
    cache.forget('a');
    reads[0]?.({ number: 1 });
    expect(await waiting).to.deep.equal({ number: 1 });
    expect(cache.has('a')).to.equal(false);
  });

  it('holds as many bytes as it may, the entries used last', async () => {
    const { cache, read } = cacheWith({ isFollowing: () => true, bytes: 40 });
    for (const key of ['a', 'b', 'a', 'c']) await read(key);
    expect(['a', 'b', 'c'].map((key) => cache.has(key))).to.deep.equal([true, false, true]);
  });

  it('holds an entry larger than its limit alone', async () => {
    const { cache, read } = cacheWith({ isFollowing: () => true, bytes: 1_000 });
    expect([await read(), await read()]).to.deep.equal([1, 1]);
    expect(cache.has('a')).to.equal(true);
  });

  it('throws the error of a read', async () => {
    const { state, read } = cacheWith();
    state.failing = true;
    expect(await failureOf(read())).to.have.property('message', 'no primary');
  });
});
