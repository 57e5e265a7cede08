import { expect } from 'chai';
import { groupCommit } from '../../../api/record/insert-calls.js';
import { CommitUnknown } from '../../../shared/store/connection/transaction.js';

interface Entry {
  readonly name: string;
  readonly records: number;
  readonly bytes: number;
  readonly deadline: { readonly monotonicMs: number };
}

const entryOf = (name: string, { records = 1, bytes = 0, leftMs = 60_000 } = {}): Entry => ({
  name,
  records,
  bytes,
  deadline: { monotonicMs: performance.now() + leftMs },
});

/** A group commit that notes the names of each commit. */
function recorder(
  write: (names: readonly string[]) => Promise<readonly (Error | undefined)[]> = async (names) =>
    names.map(() => undefined),
) {
  const groups: string[][] = [];
  const commit = groupCommit<Entry>((entries) => {
    const names = entries.map((entry) => entry.name);
    groups.push(names);
    return write(names);
  });
  return { groups, commit };
}

describe('groupCommit', () => {
  it('commits entries of one iteration of the event loop together', async () => {
    const { groups, commit } = recorder();
    await Promise.all(['a', 'b', 'c'].map((name) => commit(entryOf(name))));
    expect(groups).to.deep.equal([['a', 'b', 'c']]);
  });

  it('gathers entries until as many wait as are in flight', async () => {
    const releases: (() => void)[] = [];
    const { groups, commit } = recorder(
      (names) =>
        new Promise((resolve) => {
          releases.push(() => resolve(names.map(() => undefined)));
        }),
    );
    const nextIteration = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    const all = [commit(entryOf('a'))];
    await nextIteration();
    all.push(commit(entryOf('b')));
    await nextIteration();
    all.push(commit(entryOf('c')));
    await nextIteration();
    expect(groups).to.deep.equal([['a'], ['b']]);
    all.push(commit(entryOf('d')));
    await nextIteration();
    expect(groups).to.deep.equal([['a'], ['b'], ['c', 'd']]);
    for (const release of releases) release();
    await Promise.all(all);
  });

  it('commits an entry of many records at once and alone', async () => {
    const { groups, commit } = recorder();
    const heavy = commit(entryOf('heavy', { records: 1_000 }));
    expect(groups).to.deep.equal([['heavy']]);
    await heavy;
  });

  it('commits an entry of many bytes at once and alone', async () => {
    const { groups, commit } = recorder();
    const large = commit(entryOf('large', { bytes: 1_100_000 }));
    expect(groups).to.deep.equal([['large']]);
    await large;
  });

  it('limits a commit to a thousand records', async () => {
    const { groups, commit } = recorder();
    const entries = Array.from({ length: 12 }, (_, index) => entryOf(`${index}`, { records: 199 }));
    await Promise.all(entries.map((entry) => commit(entry)));
    expect(groups.map(({ length }) => length)).to.deep.equal([5, 5, 2]);
  });

  it('limits a commit to 8 MiB', async () => {
    const { groups, commit } = recorder();
    const entries = Array.from({ length: 20 }, (_, index) => entryOf(`${index}`, { bytes: 1_000_000 }));
    await Promise.all(entries.map((entry) => commit(entry)));
    expect(groups.map(({ length }) => length)).to.deep.equal([8, 8, 4]);
  });

  it('commits each entry alone when their common commit fails', async () => {
    const { groups, commit } = recorder(async (names) => {
      if (names.includes('bad')) throw new Error('clash');
      return names.map(() => undefined);
    });
    const outcomes = await Promise.allSettled(['a', 'bad', 'c'].map((name) => commit(entryOf(name))));
    expect(outcomes.map((outcome) => outcome.status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
    expect(groups).to.deep.equal([['a', 'bad', 'c'], ['a'], ['bad'], ['c']]);
  });

  it('rejects the one entry that MongoDB refused', async () => {
    const { groups, commit } = recorder(async (names) =>
      names.map((name) => (name === 'bad' ? new Error('refused') : undefined)),
    );
    const named = [...['a', 'bad', 'c'].map((name) => entryOf(name)), entryOf('bad', { records: 1_000 })];
    const outcomes = await Promise.allSettled(named.map((entry) => commit(entry)));
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
    expect(groups).to.deep.equal([['bad'], ['a', 'bad', 'c']]);
  });

  it('does not repeat a commit of unknown outcome', async () => {
    const { groups, commit } = recorder(async () => {
      throw new CommitUnknown('the commit was not confirmed');
    });
    const outcomes = await Promise.allSettled(['a', 'b'].map((name) => commit(entryOf(name))));
    expect(outcomes.map((outcome) => outcome.status)).to.deep.equal(['rejected', 'rejected']);
    expect(groups).to.deep.equal([['a', 'b']]);
  });

  it('rejects entries whose deadline has passed, and commits the others', async () => {
    const { groups, commit } = recorder();
    const late = { leftMs: -1 };
    const entries = [entryOf('late', late), entryOf('b'), entryOf('late too', late), entryOf('d')];
    const outcomes = await Promise.allSettled(entries.map((entry) => commit(entry)));
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['rejected', 'fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[0]).to.have.property('reason').that.is.not.instanceOf(CommitUnknown);
    const alone = await Promise.allSettled([commit(entryOf('large', { ...late, bytes: 1_100_000 }))]);
    expect(alone[0]?.status).to.equal('rejected');
    expect(groups).to.deep.equal([['b', 'd']]);
  });
});
