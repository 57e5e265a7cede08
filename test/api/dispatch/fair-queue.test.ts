import { expect } from 'chai';
import { FairQueue } from '../../../api/dispatch/fair-queue.js';
import { ApiError } from '../../../shared/contract/errors.js';

/** Work that ends when it is told to. */
function held(): { readonly done: Promise<void>; readonly end: () => void } {
  let end = (): void => undefined;
  const done = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { done, end };
}

const turnOfTheLoop = () => new Promise((resolve) => setImmediate(resolve));

describe('FairWindow', () => {
  it('runs no more than its size at once, and the rest in the order of their turns', async () => {
    const window = new FairQueue({ size: () => 2, maxWaiting: 100 });
    const running: string[] = [];
    const ends: (() => void)[] = [];
    const start = (name: string) =>
      window.run('org', 1_000, () => {
        running.push(name);
        const { done, end } = held();
        ends.push(end);
        return done;
      });
    const all = ['a', 'b', 'c', 'd'].map(start);
    await turnOfTheLoop();
    expect(running).to.deep.equal(['a', 'b']);
    ends[0]?.();
    await turnOfTheLoop();
    expect(running).to.deep.equal(['a', 'b', 'c']);
    ends[1]?.();
    ends[2]?.();
    await turnOfTheLoop();
    ends[3]?.();
    await Promise.all(all);
    expect(running).to.deep.equal(['a', 'b', 'c', 'd']);
  });

  it('gives the next place to the organisations in turn, however much one of them waits with', async () => {
    const window = new FairQueue({ size: () => 1, maxWaiting: 100 });
    const first = held();
    const order: string[] = [];
    const blocked = window.run('flood', 1_000, () => first.done);
    const flood = Array.from({ length: 10 }, (_, index) =>
      window.run('flood', 1_000, async () => order.push(`flood ${index}`)),
    );
    const quiet = window.run('quiet', 1_000, async () => order.push('quiet'));
    first.end();
    await Promise.all([blocked, ...flood, quiet]);
    expect(order.indexOf('quiet')).to.equal(1);
    expect(order.filter((name) => name !== 'quiet')).to.deep.equal(flood.map((_, index) => `flood ${index}`));
  });

  it('refuses at once, with when to try again, what would wait beyond the limit', async () => {
    const window = new FairQueue({ size: () => 1, maxWaiting: 1 });
    const first = held();
    const running = [
      window.run('org', 1_000, () => first.done),
      window.run('org', 1_000, async () => undefined),
    ];
    const refused = await window.run('org', 1_000, async () => undefined).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(ApiError);
    expect((refused as ApiError).entry.code).to.equal('internal_error');
    expect((refused as ApiError).options.retryAfterSeconds).to.be.greaterThan(0);
    first.end();
    await Promise.all(running);
  });

  it('never sends what has waited longer than its time, and gives its place to the next', async () => {
    const window = new FairQueue({ size: () => 1, maxWaiting: 10 });
    const first = held();
    const running = window.run('org', 1_000, () => first.done);
    let wasSent = false;
    const late = await window
      .run('org', 10, async () => {
        wasSent = true;
      })
      .catch((error: unknown) => error);
    expect(late).to.be.instanceOf(ApiError);
    const next = window.run('org', 1_000, async () => 'next');
    first.end();
    await running;
    expect(await next).to.equal('next');
    expect(wasSent).to.equal(false);
    expect(window.depth).to.equal(0);
  });

  it('frees the place of work that fails', async () => {
    const window = new FairQueue({ size: () => 1, maxWaiting: 10 });
    const failed = await window
      .run('org', 1_000, async () => {
        throw new Error('of its own');
      })
      .catch((error: unknown) => error);
    expect((failed as Error).message).to.equal('of its own');
    expect(await window.run('org', 1_000, async () => 'next')).to.equal('next');
  });

  it('refuses at once what could not be done in time, as turns have come of late and as long as work takes', async () => {
    let nowMs = 0;
    const window = new FairQueue({ size: () => 1, maxWaiting: 100, nowMs: () => nowMs });
    const ends: (() => void)[] = [];
    const send = () => {
      const { done, end } = held();
      ends.push(end);
      return done;
    };
    const running = Array.from({ length: 12 }, () => window.run('org', 60_000, send));
    for (let turn = 0; turn < 4; turn += 1) {
      nowMs += 1_000;
      ends[turn]?.();
      await turnOfTheLoop();
    }
    expect(window.depth).to.equal(7); // at a turn a second, and a second of work
    const refused = await window.run('org', 8_500, send).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(ApiError);
    const inTime = window.run('org', 9_500, send);
    const tooSoon = window.run('other', 2_500, send).catch((error: unknown) => error);
    expect(window.depth, 'it was refused at once').to.equal(8);
    expect(await tooSoon).to.be.instanceOf(ApiError);
    const ofAnother = window.run('other', 3_500, send); // one of theirs before it
    expect(window.depth).to.equal(9);
    for (let turn = 4; turn < 14; turn += 1) {
      ends[turn]?.();
      await turnOfTheLoop();
    }
    await Promise.all([...running, inTime, ofAnother]);
  });

  it('runs as many as its size has grown to while there is a line, with the next that ends or comes', async () => {
    let size = 1;
    const window = new FairQueue({ size: () => size, maxWaiting: 100 });
    const ends: (() => void)[] = [];
    const send = () => {
      const { done, end } = held();
      ends.push(end);
      return done;
    };
    const all = Array.from({ length: 12 }, () => window.run('org', 1_000, send));
    size = 4;
    ends[0]?.();
    await turnOfTheLoop();
    expect(ends, 'begun, one has ended').to.have.length(5);
    size = 6;
    all.push(window.run('org', 1_000, send));
    await turnOfTheLoop();
    expect(ends, 'begun').to.have.length(7);
    expect(window.depth).to.equal(6);
    while (window.depth > 0) {
      for (const end of ends) end();
      await turnOfTheLoop();
    }
    for (const end of ends) end();
    await Promise.all(all);
  });

  it('learns nothing of how long work takes from what fails, nor of how often turns come', async () => {
    let nowMs = 0;
    const window = new FairQueue({ size: () => 1, maxWaiting: 100, nowMs: () => nowMs });
    const ends: (() => void)[] = [];
    const failing = () => {
      const { done, end } = held();
      ends.push(end);
      return done.then(() => Promise.reject(new Error('not in time')));
    };
    const failed = Array.from({ length: 6 }, () => window.run('org', 60_000, failing).catch(() => 'failed'));
    for (let turn = 0; turn < 6; turn += 1) {
      nowMs += 10_000;
      ends[turn]?.();
      await turnOfTheLoop();
    }
    await Promise.all(failed);
    const first = held();
    const running = window.run('org', 9_900, () => first.done);
    const waiting = Array.from({ length: 40 }, () => window.run('org', 9_900, async () => 'scored'));
    first.end();
    await running;
    expect(new Set(await Promise.all(waiting))).to.deep.equal(new Set(['scored']));
  });

  it('counts no time in which nobody waited as that of a turn', async () => {
    let nowMs = 0;
    const window = new FairQueue({ size: () => 1, maxWaiting: 100, nowMs: () => nowMs });
    for (let line = 0; line < 5; line += 1) {
      const first = held();
      const running = window.run('org', 1_000, () => first.done);
      const waiting = [1, 2].map((turn) => window.run('org', 1_000, async () => turn));
      nowMs += 10;
      first.end();
      await Promise.all([running, ...waiting]);
      nowMs += 3_600_000;
    }
  });

  it('gives the place of the last of whoever waits with most to one that waits with less', async () => {
    const window = new FairQueue({ size: () => 1, maxWaiting: 3 });
    const first = held();
    const blocked = window.run('flood', 1_000, () => first.done);
    const flood = Array.from({ length: 3 }, (_, index) =>
      window.run('flood', 1_000, async () => index).catch((error: unknown) => error),
    );
    const quiet = window.run('quiet', 1_000, async () => 'quiet');
    expect(await flood[2]).to.be.instanceOf(ApiError);
    expect(window.depth).to.equal(3);
    const second = await window.run('quiet', 1_000, async () => 'no').catch((error: unknown) => error);
    expect(second, 'not where it would have as many').to.be.instanceOf(ApiError);
    first.end();
    await blocked;
    expect(await Promise.all([flood[0], flood[1], quiet])).to.deep.equal([0, 1, 'quiet']);
  });
});
