import { expect } from 'chai';
import { VersionPartitions } from '../../../api/dispatch/version-partitions.js';
import { partitionsOf } from '../../../shared/messages/partitions.js';

const version = 'mdl:1';
const ranking = partitionsOf(version, 16);

describe('the partitions for the chunks of a version', () => {
  let slow: Set<number>;
  let windowSize: number;
  let versions: VersionPartitions;

  beforeEach(() => {
    [slow, windowSize] = [new Set(), 4];
    const queues = { partitions: 16, windowSize: () => windowSize };
    versions = new VersionPartitions({ queues, isSlow: (_lane, partition) => slow.has(partition) });
  });

  /** The choice for the last of some chunks that are in flight at once. */
  async function chosenWith(chunks: number): Promise<readonly number[]> {
    let choose: () => readonly number[] = () => [];
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const send = async (partitions: () => readonly number[]) => {
      choose = partitions;
      await ended;
    };
    const all = Promise.all(Array.from({ length: chunks }, () => versions.run('batches', version, send)));
    const chosen = choose();
    end();
    await all;
    return chosen;
  }

  it('are its home and the next one while its chunks fit into these', async () => {
    expect(await chosenWith(1)).to.deep.equal(ranking.slice(0, 2));
    expect(await chosenWith(6)).to.deep.equal(ranking.slice(0, 2));
  });

  it('are as many as its chunks fill: its home, and half of each other one', async () => {
    expect(await chosenWith(7)).to.deep.equal(ranking.slice(0, 3));
    expect(await chosenWith(9)).to.deep.equal(ranking.slice(0, 4));
    expect(await chosenWith(500)).to.deep.equal(ranking);
  });

  it('are more where half of a window is no whole number', async () => {
    windowSize = 3;
    expect(await chosenWith(7)).to.deep.equal(ranking.slice(0, 5));
  });

  it('are fewer again when its chunks have come back', async () => {
    await chosenWith(500);
    expect(await chosenWith(1)).to.deep.equal(ranking.slice(0, 2));
  });

  it('have the next ones in place of slow ones, which come last', async () => {
    const [home = 0, second = 0, third, fourth] = ranking;
    slow = new Set([home]);
    expect(await chosenWith(1)).to.deep.equal([second, third, home]);
    slow = new Set([home, second]);
    expect(await chosenWith(1)).to.deep.equal([third, fourth, home, second]);
    slow = new Set(ranking);
    expect(await chosenWith(1)).to.deep.equal(ranking);
  });

  it('do not grow by chunks of other versions', async () => {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const others = Array.from({ length: 500 }, () => versions.run('batches', 'other:1', () => ended));
    expect(await chosenWith(1)).to.deep.equal(ranking.slice(0, 2));
    end();
    await Promise.all(others);
  });
});
