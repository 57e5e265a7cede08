import { expect } from 'chai';
import { FairQueue } from '../../../shared/async/fair-queue.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { failureOf } from '../../support/failure-of.js';

/** A promise that the test resolves with `end`. */
function held(): { readonly done: Promise<void>; readonly end: () => void } {
  let end = (): void => undefined;
  const done = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { done, end };
}

const nextIteration = () => new Promise((resolve) => setImmediate(resolve));

describe('FairQueue', () => {
  it('runs no more items at once than its size, and the rest in the order of arrival', async () => {
    const queue = new FairQueue({ size: () => 2, maxWaiting: 100 });
    const running: string[] = [];
    const ends: (() => void)[] = [];
    const start = (name: string) =>
      queue.run('org', 1_000, () => {
        running.push(name);
        const { done, end } = held();
        ends.push(end);
        return done;
      });
    const all = ['a', 'b', 'c', 'd'].map(start);
    await nextIteration();
    expect(running).to.deep.equal(['a', 'b']);
    ends[0]?.();
    await nextIteration();
    expect(running).to.deep.equal(['a', 'b', 'c']);
    ends[1]?.();
    ends[2]?.();
    await nextIteration();
    ends[3]?.();
    await Promise.all(all);
    expect(running).to.deep.equal(['a', 'b', 'c', 'd']);
  });

  it('gives turns to owners in round robin when one owner floods the queue', async () => {
    const queue = new FairQueue({ size: () => 1, maxWaiting: 100 });
    const first = held();
    const order: string[] = [];
    const blocked = queue.run('flood', 1_000, () => first.done);
    const flood = Array.from({ length: 10 }, (_, index) =>
      queue.run('flood', 1_000, async () => order.push(`flood ${index}`)),
    );
    const quiet = queue.run('quiet', 1_000, async () => order.push('quiet'));
    first.end();
    await Promise.all([blocked, ...flood, quiet]);
    expect(order.indexOf('quiet')).to.equal(1);
    expect(order.filter((name) => name !== 'quiet')).to.deep.equal(flood.map((_, index) => `flood ${index}`));
  });

  it('refuses an owner that has half of the waiting items, with Retry-After, while another owner still waits', async () => {
    const queue = new FairQueue({ size: () => 1, maxWaiting: 4 });
    const first = held();
    const work = async () => undefined;
    const running = [queue.run('flood', 1_000, () => first.done)];
    for (let count = 0; count < 2; count += 1) running.push(queue.run('flood', 1_000, work));
    const refused = await failureOf(queue.run('flood', 1_000, work));
    expect(refused).to.be.instanceOf(ApiError);
    expect((refused as ApiError).entry.code).to.equal('internal_error');
    expect((refused as ApiError).options.retryAfterSeconds).to.be.greaterThan(0);
    running.push(queue.run('quiet', 1_000, work));
    first.end();
    await Promise.all(running);
  });

  it('refuses every owner when it is full', async () => {
    const queue = new FairQueue({ size: () => 1, maxWaiting: 2 });
    const first = held();
    const work = async () => undefined;
    const running = [queue.run('a', 1_000, () => first.done)];
    for (const owner of ['a', 'b']) running.push(queue.run(owner, 1_000, work));
    expect(await failureOf(queue.run('c', 1_000, work))).to.be.instanceOf(ApiError);
    first.end();
    await Promise.all(running);
  });

  it('never runs an item after its timeout, and gives its turn to the next', async () => {
    const queue = new FairQueue({ size: () => 1, maxWaiting: 10 });
    const first = held();
    const running = queue.run('org', 1_000, () => first.done);
    let wasSent = false;
    const late = await queue
      .run('org', 10, async () => {
        wasSent = true;
      })
      .catch((error: unknown) => error);
    expect(late).to.be.instanceOf(ApiError);
    const next = queue.run('org', 1_000, async () => 'next');
    first.end();
    await running;
    expect(await next).to.equal('next');
    expect(wasSent).to.equal(false);
    expect(queue.depth).to.equal(0);
  });

  it('makes room after an item that fails', async () => {
    const queue = new FairQueue({ size: () => 1, maxWaiting: 10 });
    const failed = await queue
      .run('org', 1_000, async () => {
        throw new Error('of its own');
      })
      .catch((error: unknown) => error);
    expect((failed as Error).message).to.equal('of its own');
    expect(await queue.run('org', 1_000, async () => 'next')).to.equal('next');
  });

  it('refuses an owner whose oldest item has waited for 0.8 of the new timeout, and no other owner', async () => {
    let nowMs = 0;
    const queue = new FairQueue({ size: () => 1, maxWaiting: 100, nowMs: () => nowMs });
    const first = held();
    const work = async () => undefined;
    const running = [queue.run('a', 10_000, () => first.done), queue.run('a', 10_000, work)];
    nowMs = 8_000;
    running.push(queue.run('a', 10_000, work));
    nowMs = 8_001;
    expect(await failureOf(queue.run('a', 10_000, work))).to.be.instanceOf(ApiError);
    running.push(queue.run('a', 20_000, work), queue.run('b', 10_000, work));
    first.end();
    await Promise.all(running);
    expect(await queue.run('a', 10_000, async () => 'after the backlog')).to.equal('after the backlog');
  });

  it('runs more items when its size grows, at the next end or arrival', async () => {
    let size = 1;
    const queue = new FairQueue({ size: () => size, maxWaiting: 100 });
    const ends: (() => void)[] = [];
    const send = () => {
      const { done, end } = held();
      ends.push(end);
      return done;
    };
    const all = Array.from({ length: 12 }, () => queue.run('org', 1_000, send));
    size = 4;
    ends[0]?.();
    await nextIteration();
    expect(ends, 'begun items, one of them ended').to.have.length(5);
    size = 6;
    all.push(queue.run('org', 1_000, send));
    await nextIteration();
    expect(ends, 'begun items').to.have.length(7);
    expect(queue.depth).to.equal(6);
    while (queue.depth > 0) {
      for (const end of ends) end();
      await nextIteration();
    }
    for (const end of ends) end();
    await Promise.all(all);
  });

  describe('with several partitions', () => {
    /** Runs items until they are ended, and collects where each ran. */
    function partitioned(size: (partition: number) => number) {
      const queue = new FairQueue({ size, maxWaiting: 100, maxOtherShare: 0.5 });
      const ran: string[] = [];
      const ends = new Map<string, () => void>();
      const run = (name: string, owner: string, partitions: readonly number[]) => {
        const work = (partition: number) => {
          ran.push(`${name} in ${partition}`);
          const { done, end } = held();
          ends.set(name, end);
          return done;
        };
        queue.run(owner, 1_000, work, () => partitions).catch(() => undefined); // some wait until the test has ended
      };
      const end = async (name: string) => {
        ends.get(name)?.();
        await nextIteration();
      };
      return { queue, ran, run, end };
    }

    it('runs an item in its first partition, and in another one while that is full and the other half empty', async () => {
      const { ran, run } = partitioned(() => 2);
      for (const name of ['a', 'b', 'c', 'd']) run(name, 'org', [0, 1]);
      await nextIteration();
      expect(ran).to.deep.equal(['a in 0', 'b in 0', 'c in 1']);
    });

    it('lets an item pass those that wait for a full partition', async () => {
      const { ran, run, end } = partitioned(() => 1);
      for (const name of ['a', 'b']) run(name, 'org', [0]);
      run('c', 'org', [1]);
      await nextIteration();
      expect(ran).to.deep.equal(['a in 0', 'c in 1']);
      await end('a');
      expect(ran.at(-1)).to.equal('b in 0');
    });

    it('gives an owner of items for many partitions no more turns than one of a single partition', async () => {
      const { ran, run, end } = partitioned(() => 1);
      for (const partition of [0, 1, 2]) run(`first ${partition}`, 'wide', [partition]);
      for (const partition of [0, 1, 2]) run(`wide ${partition}`, 'wide', [partition]);
      run('narrow', 'narrow', [2]);
      await nextIteration();
      await end('first 0');
      await end('first 2');
      expect(ran.slice(3)).to.deep.equal(['wide 0 in 0', 'narrow in 2']);
    });
  });
});
