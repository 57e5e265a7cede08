import { expect } from 'chai';
import fc from 'fast-check';
import {
  maxPartitions,
  partitionSharing,
  partitionsOf,
  type RegisteredWorker,
  sharePartitions,
} from '../../../shared/messages/partitions.js';

const workersOf = (ids: readonly string[], partitions: number): RegisteredWorker[] =>
  ids.map((id) => ({ id, partitions }));

const ids = fc.uniqueArray(fc.uuid(), { minLength: 1, maxLength: 40 });
const counts = fc.integer({ min: 1, max: maxPartitions });

/** Each `partition process` of the shares. */
const pairsOf = (shares: ReadonlyMap<string, readonly number[]>): Set<string> =>
  new Set([...shares].flatMap(([id, partitions]) => partitions.map((partition) => `${partition} ${id}`)));

describe('the partitions of a version', () => {
  it('are the same for every process, different from each other, and below the count', () => {
    fc.assert(
      fc.property(fc.string(), counts, (version, count) => {
        const partitions = partitionsOf(version, count);
        expect(partitionsOf(version, count)).to.deep.equal(partitions);
        expect(new Set(partitions).size).to.equal(count);
        expect(partitions.every((partition) => partition >= 0 && partition < count)).to.equal(true);
      }),
    );
  });

  it('spread 10,000 versions evenly', () => {
    const held = Array.from({ length: 16 }, () => 0);
    for (let model = 0; model < 10_000; model += 1) {
      const [first = 0] = partitionsOf(`mdl_${model}:1`, 16);
      held[first] = (held[first] ?? 0) + 1;
    }
    expect(Math.min(...held)).to.be.above(500);
    expect(Math.max(...held)).to.be.below(750);
  });

  it('stay as they are for most versions when a partition is added', () => {
    const versions = Array.from({ length: 10_000 }, (_, model) => `mdl_${model}:1`);
    const moved = versions.filter((version) => partitionsOf(version, 16)[0] !== partitionsOf(version, 17)[0]);
    expect(moved.length).to.be.within(1, 10_000 / 10);
    expect(moved.every((version) => partitionsOf(version, 17)[0] === 16)).to.equal(true);
  });
});

describe('the shares of worker processes', () => {
  it('give each partition a process and each process a partition, in numbers that differ by one at most', () => {
    fc.assert(
      fc.property(ids, counts, (names, count) => {
        const shares = sharePartitions(workersOf(names, count));
        const sizes = [...shares.values()].map((share) => share.length);
        const serving = Array.from({ length: count }, (_, partition) =>
          [...shares.values()].filter((share) => share.includes(partition)),
        ).map((processes) => processes.length);
        expect(Math.min(...serving), 'processes of a partition').to.be.at.least(1);
        expect(Math.min(...sizes), 'partitions of a process').to.be.at.least(1);
        expect(Math.max(...sizes) - Math.min(...sizes)).to.be.at.most(1);
        expect(Math.max(...serving) - Math.min(...serving)).to.be.at.most(1);
        expect(sizes.reduce((sum, size) => sum + size)).to.equal(Math.max(count, names.length));
      }),
    );
  });

  it('do not depend on the order of the register', () => {
    fc.assert(
      fc.property(ids, counts, (names, count) => {
        const [one, other] = [names, [...names].reverse()].map((each) => sharePartitions(workersOf(each, count)));
        expect(pairsOf(one ?? new Map())).to.deep.equal(pairsOf(other ?? new Map()));
      }),
    );
  });

  it('are computed again only when a process comes or goes, or knows other partitions', () => {
    const sharesOf = partitionSharing();
    const [one, other] = [
      { id: 'one', partitions: 4 },
      { id: 'other', partitions: 4 },
    ];
    const shares = sharesOf([one, other]);
    expect(shares).to.deep.equal(sharePartitions([one, other]));
    expect(sharesOf([other, one])).to.equal(shares);
    for (const workers of [[one], [], [one, { ...other, partitions: 5 }], [one, other]])
      expect(sharesOf(workers)).to.deep.equal(sharePartitions(workers));
  });

  it('move few partitions when a process comes or goes', () => {
    const moved: number[] = [];
    for (let seed = 0; seed < 50; seed += 1) {
      const names = Array.from({ length: 9 }, (_, index) => `worker ${seed} ${index}`);
      const [before, after] = [names.slice(1), names].map((each) => sharePartitions(workersOf(each, maxPartitions)));
      const [old, now] = [pairsOf(before ?? new Map()), pairsOf(after ?? new Map())];
      moved.push([...now].filter((pair) => !old.has(pair)).length);
    }
    // The new process takes seven of 64. The others pass a few on, to keep equal numbers.
    const mean = moved.reduce((sum, count) => sum + count) / moved.length;
    expect(mean).to.be.within(7, 16);
  });

  it('give every partition a process while processes know different numbers of partitions', () => {
    fc.assert(
      fc.property(fc.array(counts, { minLength: 1, maxLength: 20 }), (known) => {
        const shares = sharePartitions(known.map((partitions, index) => ({ id: `worker ${index}`, partitions })));
        const served = new Set([...shares.values()].flat());
        expect(served.size).to.equal(Math.max(...known));
        for (const [index, partitions] of known.entries()) {
          const share = shares.get(`worker ${index}`) ?? [];
          expect(share.length).to.be.at.least(1);
          expect(Math.max(...share)).to.be.below(partitions);
        }
      }),
    );
  });
});
