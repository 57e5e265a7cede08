import { setTimeout as pause, setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { expect } from 'chai';
import { type CallToWait, LargeBodies, largeBytes } from '../../../api/request/large-bodies.js';
import { CallerGone } from '../../../api/request/read-body.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { beatsDuring } from '../../support/beats.js';

const small = Buffer.alloc(largeBytes - 1);
const large = Buffer.alloc(largeBytes);

const callOf = (
  organisation: string,
  body: Buffer,
  { timeoutMs = 5_000, hasHungUp = false } = {},
): CallToWait => ({
  apiKey: { organisation_id: organisation },
  body,
  deadline: { monotonicMs: performance.now() + timeoutMs },
  hasHungUp: () => hasHungUp,
});

describe('large calls', () => {
  let largeBodies: LargeBodies;
  let began: string[];
  let ends: Map<string, () => void>;

  beforeEach(() => {
    largeBodies = new LargeBodies();
    began = [];
    ends = new Map();
  });

  /** Begins a call that ends when it is told to. */
  const begin = (name: string, call: CallToWait): Promise<string> =>
    largeBodies.inTurn(call, async () => {
      began.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    });

  async function end(...names: string[]): Promise<void> {
    for (const name of names) ends.get(name)?.();
    await turnOfTheLoop();
    await turnOfTheLoop();
  }

  it('run four at once where there are no small ones but those of the same organisation', async () => {
    await largeBodies.inTurn(callOf('a', small), async () => undefined);
    const all = ['1', '2', '3', '4', '5'].map((name) => begin(name, callOf('a', large)));
    await turnOfTheLoop();
    expect(began).to.deep.equal(['1', '2', '3', '4']);
    await end('2');
    expect(began).to.deep.equal(['1', '2', '3', '4', '5']);
    await end('1', '3', '4', '5');
    expect(await Promise.all(all)).to.deep.equal(['1', '2', '3', '4', '5']);
  });

  it('run one at once beside small ones, which never wait, and organisation by organisation in turn', async () => {
    for (const organisation of ['c', 'a'])
      await largeBodies.inTurn(callOf(organisation, small), async () => undefined);
    const all = ['a1', 'a2', 'a3', 'b1'].map((name) => begin(name, callOf(name.slice(0, 1), large)));
    await turnOfTheLoop();
    expect(began).to.deep.equal(['a1']);
    expect(await largeBodies.inTurn(callOf('c', small), async () => 'at once')).to.equal('at once');
    for (const [name, next] of [
      ['a1', 'a2'],
      ['a2', 'b1'],
      ['b1', 'a3'],
    ] as const) {
      await end(name);
      while (began.at(-1) === name) await pause(1);
      expect(began.at(-1)).to.equal(next);
    }
    await end('a3');
    await Promise.all(all);
  });

  it('have one chunk with the workers at once beside small calls of others, and otherwise all of them', async () => {
    const chunksAtOnce = (body: Buffer) =>
      largeBodies.inTurn(callOf('a', body), async (turn) => turn.chunksAtOnce);
    await largeBodies.inTurn(callOf('a', small), async () => undefined);
    expect(await chunksAtOnce(large)).to.equal(Number.POSITIVE_INFINITY);
    await largeBodies.inTurn(callOf('c', small), async () => undefined);
    expect(await chunksAtOnce(large)).to.equal(1);
    expect(await chunksAtOnce(small)).to.equal(Number.POSITIVE_INFINITY);
  });

  it('are answered at once and then followed by a pause, while small ones come', async () => {
    await largeBodies.inTurn(callOf('c', small), async () => undefined);
    const tookMs = 100;
    const beganMs = performance.now();
    const first = largeBodies.inTurn(callOf('a', large), () => pause(tookMs));
    const second = largeBodies.inTurn(callOf('a', large), async () => performance.now());
    await first;
    const answeredMs = performance.now();
    const beats = await beatsDuring(() => second);
    expect((await second) - answeredMs).to.be.above(0.8 * (answeredMs - beganMs));
    expect(beats, 'of 50 ms').to.be.below((250 + tookMs) / 50);
  });

  it('are followed by a quarter of a second at most, however long they took', async () => {
    let nowMs = 0;
    largeBodies = new LargeBodies({ nowMs: () => nowMs });
    await largeBodies.inTurn(callOf('c', small), async () => undefined);
    const first = largeBodies.inTurn(callOf('a', large), async () => {
      await turnOfTheLoop();
      nowMs += 1_000;
    });
    const second = largeBodies.inTurn(callOf('a', large), async () => 'next');
    await first;
    expect(await beatsDuring(() => second), 'of 50 ms').to.be.below(10);
  });

  it('hold their place no longer than their limit', async () => {
    largeBodies = new LargeBodies({ maxHoldMs: 20 });
    await largeBodies.inTurn(callOf('c', small), async () => undefined);
    const slow = begin('slow', callOf('a', large));
    expect(await largeBodies.inTurn(callOf('b', large), async () => 'next')).to.equal('next');
    await end('slow');
    expect(await slow).to.equal('slow');
  });

  it('are not begun for a caller who has gone, nor after their deadline', async () => {
    await largeBodies.inTurn(callOf('c', small), async () => undefined);
    const gone = largeBodies.inTurn(callOf('a', large, { hasHungUp: true }), async () =>
      expect.fail('begun'),
    );
    expect(await gone.catch((error: unknown) => error)).to.be.instanceOf(CallerGone);
    const first = begin('first', callOf('a', large));
    const late = largeBodies.inTurn(callOf('a', large, { timeoutMs: 30 }), async () => expect.fail('begun'));
    expect(await late.catch((error: unknown) => error)).to.be.instanceOf(ApiError);
    await end('first');
    await first;
  });

  it('fail with what they fail with, and free their place', async () => {
    const failure = new Error('of its own');
    const failed = largeBodies.inTurn(callOf('a', large), () => Promise.reject(failure));
    expect(await failed.catch((error: unknown) => error)).to.equal(failure);
    expect(await largeBodies.inTurn(callOf('a', large), async () => 'next')).to.equal('next');
  });

  it('beyond the sixty-fourth that waits are refused at once, but one of another organisation takes a place', async () => {
    const running = Array.from({ length: 4 }, (_, index) => begin(`${index}`, callOf('a', large)));
    const outcomes = Array.from({ length: 65 }, (_, index) =>
      begin(`waits ${index}`, callOf('a', large)).then(
        () => 'done',
        (error: ApiError) => error,
      ),
    );
    const refused = await outcomes[64];
    expect(refused).to.be.instanceOf(ApiError).and.to.have.nested.property('options.retryAfterSeconds');
    const other = begin('other', callOf('b', large));
    expect(await outcomes[63], 'the last of the organisation that waits with most').to.be.instanceOf(
      ApiError,
    );
    const endAll = setInterval(() => void end(...ends.keys()), 1);
    try {
      await Promise.all(running);
      expect(await other).to.equal('other');
      expect(await Promise.all(outcomes.slice(0, 63))).to.deep.equal(Array(63).fill('done'));
    } finally {
      clearInterval(endAll);
    }
    expect(began.indexOf('other')).to.be.below(7);
  });
});
