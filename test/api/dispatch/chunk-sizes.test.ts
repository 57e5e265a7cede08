import { expect } from 'chai';
import { ChunkSizes } from '../../../api/dispatch/chunk-sizes.js';
import type { Lane } from '../../../shared/contract/lanes.js';
import { maxChunkRecords } from '../../../shared/messages/score-job.js';

type Workers = Partial<Record<Lane, number>>;

describe('the records of a chunk', () => {
  const sizesFor = (workers: Workers) => new ChunkSizes({ workersOf: (lane) => workers[lane] ?? 0 });

  /** Begins a call, and returns the records of its chunks and the function that ends it. */
  function begin(sizes: ChunkSizes, records: number, more: { readonly lane?: Lane; readonly isSlow?: boolean } = {}) {
    let size = 0;
    let end = (): void => undefined;
    const running = sizes.run({ lane: 'batches', isSlow: false, ...more, records }, (maxRecords) => {
      size = maxRecords;
      return new Promise<void>((resolve) => {
        end = resolve;
      });
    });
    return {
      size,
      end: async () => {
        end();
        await running;
      },
    };
  }

  it('are as many as idle processes leave: a lone batch uses all of them, in chunks of 250 or more', () => {
    const sizes = [0, 1, 2, 3, 4, 50].map((batches) => begin(sizesFor({ batches }), 1_000).size);
    expect(sizes).to.deep.equal([1_000, 1_000, 500, 334, 250, 250]);
    const ofSmall = [1, 250, 251, 600].map((records) => begin(sizesFor({ batches: 50 }), records).size);
    expect(ofSmall).to.deep.equal([1, 250, 126, 200]);
  });

  it('are all of a call, up to 1,000, while each process has work', async () => {
    const sizes = sizesFor({ batches: 6 });
    const calls = Array.from({ length: 4 }, () => begin(sizes, 1_000));
    // Six, two, and no idle processes. Then eight chunks are sent.
    expect(calls.map(({ size }) => size)).to.deep.equal([250, 500, 1_000, 1_000]);
    expect(begin(sizes, 2_500).size).to.equal(834).and.at.most(maxChunkRecords);
    await calls[0]?.end();
    expect(begin(sizes, 1_000).size, 'while seven chunks are sent').to.equal(1_000);
  });

  it('become fewer again when calls have ended, also with an error', async () => {
    const sizes = sizesFor({ batches: 2 });
    const first = begin(sizes, 1_000);
    const second = begin(sizes, 1_000);
    expect([first.size, second.size]).to.deep.equal([500, 1_000]);
    await Promise.all([first.end(), second.end()]);
    const gone = new Error('no reply');
    const failing = sizes.run({ lane: 'batches', records: 1_000, isSlow: false }, () => Promise.reject(gone));
    expect(await failing.catch((error: unknown) => error)).to.equal(gone);
    expect(begin(sizes, 1_000).size).to.equal(500);
  });

  it('depend on the processes and the calls of the same lane', () => {
    const sizes = sizesFor({ batches: 2, bulk: 4 });
    expect(begin(sizes, 1_000, { lane: 'bulk' }).size).to.equal(250);
    expect(begin(sizes, 1_000).size).to.equal(500);
  });

  it('are at most 250 where a record takes long, whatever the load', () => {
    const sizes = sizesFor({ batches: 1 });
    for (let call = 0; call < 3; call += 1) expect(begin(sizes, 1_000, { isSlow: true }).size).to.equal(250);
  });
});
