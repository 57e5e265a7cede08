import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect } from 'chai';
import { LargeBodies, laneOf, largeBytes, type QueuedCall } from '../../../api/request/large-bodies.js';
import { CallerGone } from '../../../api/request/read-body.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { failureOf } from '../../support/failure-of.js';

const small = Buffer.alloc(largeBytes - 1);
const large = Buffer.alloc(largeBytes);

const callOf = (organisation: string, body: Buffer, { timeoutMs = 5_000, hasHungUp = false } = {}): QueuedCall => ({
  apiKey: { organisation_id: organisation },
  body,
  deadline: { monotonicMs: performance.now() + timeoutMs },
  hasHungUp: () => hasHungUp,
});

describe('LargeBodies', () => {
  let largeBodies: LargeBodies;
  let began: string[];
  let ends: Map<string, () => void>;
  let batchWorkers: number;

  beforeEach(() => {
    largeBodies = new LargeBodies(() => batchWorkers);
    batchWorkers = 2;
    began = [];
    ends = new Map();
  });

  /** Starts a call that runs until `end` is called with its name. */
  const begin = (name: string, call: QueuedCall): Promise<string> =>
    largeBodies.inTurn(call, async () => {
      began.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    });

  async function end(...names: string[]): Promise<void> {
    for (const name of names) ends.get(name)?.();
    await nextIteration();
    await nextIteration();
  }

  it('runs two large calls at once, and the next when one ends', async () => {
    const all = ['1', '2', '3', '4'].map((name) => begin(name, callOf('a', large)));
    await nextIteration();
    expect(began).to.deep.equal(['1', '2']);
    await end('2');
    expect(began).to.deep.equal(['1', '2', '3']);
    await end('1', '3');
    await end('4');
    expect(await Promise.all(all)).to.deep.equal(['1', '2', '3', '4']);
  });

  it('runs as many large calls at once as there are workers of batches, also beside small calls of others', async () => {
    batchWorkers = 8;
    await largeBodies.inTurn(callOf('b', small), async () => undefined);
    const all = Array.from({ length: 10 }, (_, index) => begin(`${index}`, callOf('a', large)));
    await nextIteration();
    expect(began).to.have.length(8);
    await end(...ends.keys());
    await end(...ends.keys());
    await Promise.all(all);
  });

  it('gives one record with a large body to the workers of batches', () => {
    expect([laneOf(1, small), laneOf(1, large), laneOf(2, small)]).to.deep.equal(['singles', 'batches', 'batches']);
  });

  it('runs a call of a small body in turn when it is large otherwise', async () => {
    const all = ['1', '2', '3'].map((name) => begin(name, { ...callOf('a', small), isLarge: true }));
    await nextIteration();
    expect(began).to.deep.equal(['1', '2']);
    await end('1', '2');
    await end('3');
    await Promise.all(all);
  });

  it('runs large calls of organisations in round robin, and small calls at once', async () => {
    const all = ['a1', 'a2', 'a3', 'a4', 'b1'].map((name) => begin(name, callOf(name.slice(0, 1), large)));
    await nextIteration();
    expect(began).to.deep.equal(['a1', 'a2']);
    expect(await largeBodies.inTurn(callOf('c', small), async () => 'at once')).to.equal('at once');
    await end('a1');
    await end('a2');
    expect(began).to.deep.equal(['a1', 'a2', 'a3', 'b1']);
    await end('a3', 'b1');
    await end('a4');
    await Promise.all(all);
  });

  it('lets the next call run when a call takes longer than the hold time', async () => {
    largeBodies = new LargeBodies(() => 2, 20);
    const slow = ['slow 1', 'slow 2'].map((name) => begin(name, callOf('a', large)));
    expect(await largeBodies.inTurn(callOf('b', large), async () => 'next')).to.equal('next');
    await end('slow 1', 'slow 2');
    expect(await Promise.all(slow)).to.deep.equal(['slow 1', 'slow 2']);
  });

  it('does not run a call whose caller hung up or whose deadline has passed', async () => {
    const gone = largeBodies.inTurn(callOf('a', large, { hasHungUp: true }), async () => expect.fail('begun'));
    expect(await gone.catch((error: unknown) => error)).to.be.instanceOf(CallerGone);
    const running = ['first', 'second'].map((name) => begin(name, callOf('a', large)));
    const late = largeBodies.inTurn(callOf('a', large, { timeoutMs: 30 }), async () => expect.fail('begun'));
    expect(await late.catch((error: unknown) => error)).to.be.instanceOf(ApiError);
    await end('first', 'second');
    await Promise.all(running);
  });

  it('refuses a call that has waited until less than the hold time is left, and runs one that has not waited', async () => {
    largeBodies = new LargeBodies(() => 2, 60_000);
    const running = ['first', 'second'].map((name) => begin(name, callOf('a', large)));
    await nextIteration();
    expect(began).to.deep.equal(['first', 'second']);
    const late = await failureOf(largeBodies.inTurn(callOf('a', large, { timeoutMs: 60_001 }), async () => 'begun'));
    expect(late)
      .to.be.instanceOf(ApiError)
      .and.have.property('message')
      .that.matches(/could not be started in time/);
    await end('first', 'second');
    await Promise.all(running);
  });

  it('rejects with the error of the call, and runs the next', async () => {
    const failure = new Error('of its own');
    const failed = largeBodies.inTurn(callOf('a', large), () => Promise.reject(failure));
    expect(await failed.catch((error: unknown) => error)).to.equal(failure);
    expect(await largeBodies.inTurn(callOf('a', large), async () => 'next')).to.equal('next');
  });

  it('refuses the 33rd waiting call of an organisation, but queues a call of another', async () => {
    const running = ['1', '2'].map((name) => begin(name, callOf('a', large)));
    const waiting = Array.from({ length: 32 }, (_, index) => begin(`waits ${index}`, callOf('a', large)));
    const refused = await failureOf(begin('refused', callOf('a', large)));
    expect(refused).to.be.instanceOf(ApiError).and.to.have.nested.property('options.retryAfterSeconds');
    const other = begin('other', callOf('b', large));
    const endAll = setInterval(() => void end(...ends.keys()), 1);
    try {
      await Promise.all([...running, ...waiting, other]);
    } finally {
      clearInterval(endAll);
    }
    expect(began.indexOf('other')).to.be.below(5);
  });
});
