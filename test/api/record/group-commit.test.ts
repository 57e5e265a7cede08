import { expect } from 'chai';
import { GroupCommit } from '../../../api/record/group-commit.js';

interface Entry {
  readonly name: string;
  readonly weight: number;
  readonly bytes?: number;
}

const light = (name: string): Entry => ({ name, weight: 1 });

/** Collects groups; each commit waits for `release` when it is held. */
function recorder(
  commit: (names: readonly string[]) => Promise<readonly (Error | undefined)[]> = async () => [],
) {
  const groups: string[][] = [];
  const commits = new GroupCommit<Entry>({
    commit: (entries) => {
      const names = entries.map((entry) => entry.name);
      groups.push(names);
      return commit(names);
    },
    weightOf: (entry) => entry.weight,
    bytesOf: (entry) => entry.bytes ?? 0,
    mayPassAlone: (error) => (error as Error).message !== 'unknown',
  });
  return { groups, commits };
}

describe('GroupCommit', () => {
  it('commits entries of the same turn of the event loop together', async () => {
    const { groups, commits } = recorder();
    await Promise.all(['a', 'b', 'c'].map((name) => commits.commit(light(name))));
    expect(groups).to.deep.equal([['a', 'b', 'c']]);
  });

  it('gathers entries while two groups are under way', async () => {
    const releases: (() => void)[] = [];
    const { groups, commits } = recorder(
      () =>
        new Promise((resolve) => {
          releases.push(() => resolve([]));
        }),
    );
    const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    const all = [commits.commit(light('a'))];
    await turn();
    all.push(commits.commit(light('b')));
    await turn();
    all.push(commits.commit(light('c')), commits.commit(light('d')));
    await turn();
    expect(groups).to.deep.equal([['a'], ['b']]);
    releases[0]?.();
    await turn();
    expect(groups).to.deep.equal([['a'], ['b'], ['c', 'd']]);
    for (const release of releases) release();
    await Promise.all(all);
  });

  it('commits a heavy entry at once and alone', async () => {
    const { groups, commits } = recorder();
    const heavy = commits.commit({ name: 'heavy', weight: 1_000 });
    expect(groups).to.deep.equal([['heavy']]);
    await heavy;
  });

  it('commits an entry of many bytes at once and alone', async () => {
    const { groups, commits } = recorder();
    const large = commits.commit({ name: 'large', weight: 1, bytes: 1_100_000 });
    expect(groups).to.deep.equal([['large']]);
    await large;
  });

  it('ends a group before it has more than a thousand records', async () => {
    const { groups, commits } = recorder();
    const entries = Array.from({ length: 12 }, (_, index) => ({ name: `${index}`, weight: 199 }));
    await Promise.all(entries.map((entry) => commits.commit(entry)));
    expect(groups.map(({ length }) => length)).to.deep.equal([5, 5, 2]);
  });

  it('ends a group before it is more than 8 MiB', async () => {
    const { groups, commits } = recorder();
    const entries = Array.from({ length: 20 }, (_, index) => ({
      name: `${index}`,
      weight: 1,
      bytes: 1_000_000,
    }));
    await Promise.all(entries.map((entry) => commits.commit(entry)));
    expect(groups.map(({ length }) => length)).to.deep.equal([8, 8, 4]);
  });

  it("lets a group's members pass or fail each on its own when the group fails", async () => {
    const { groups, commits } = recorder(async (names) => {
      if (names.includes('bad')) throw new Error('clash');
      return [];
    });
    const outcomes = await Promise.allSettled(['a', 'bad', 'c'].map((name) => commits.commit(light(name))));
    expect(outcomes.map((outcome) => outcome.status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
    expect(groups).to.deep.equal([['a', 'bad', 'c'], ['a'], ['bad'], ['c']]);
  });

  it('tells each member what it alone was refused with', async () => {
    const { groups, commits } = recorder(async (names) =>
      names.map((name) => (name === 'bad' ? new Error('refused') : undefined)),
    );
    const named = [...['a', 'bad', 'c'].map(light), { name: 'bad', weight: 1_000 }];
    const outcomes = await Promise.allSettled(named.map((entry) => commits.commit(entry)));
    expect(outcomes.map(({ status }) => status)).to.deep.equal([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
    ]);
    expect(groups).to.deep.equal([['bad'], ['a', 'bad', 'c']]);
  });

  it('does not commit again what may have been committed', async () => {
    const { groups, commits } = recorder(async () => {
      throw new Error('unknown');
    });
    const outcomes = await Promise.allSettled(['a', 'b'].map((name) => commits.commit(light(name))));
    expect(outcomes.map((outcome) => outcome.status)).to.deep.equal(['rejected', 'rejected']);
    expect(groups).to.deep.equal([['a', 'b']]);
  });
});
