import { expect } from 'chai';
import { MicroBatcher } from '../../../api/dispatch/micro-batcher.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import type { OutgoingPart, PartReply, ScoredPart } from '../../../shared/messages/score-job.js';
import { beatsDuring } from '../../support/beats.js';
import { failureOf } from '../../support/failure-of.js';

const part = (row: string): OutgoingPart => ({
  now: 0,
  explain: false,
  firstRow: 0,
  crmIds: [null],
  rows: [row],
});
const scored = (score: number): ScoredPart => ({
  scores: [score],
  likelihoods: [0],
  matched: [0],
  previous: [null],
  warnings: [],
  filled: [],
});
const target = (id: string) => ({
  organisationId: 'org',
  model: { id, version: '1', knownFields: compileKnownFields({ features: [] }), otherModelIds: [] },
});

/** A coalescer whose chunks answer when they are released, each part with the number that its row holds. */
function heldBatcher({ turns = Number.POSITIVE_INFINITY }: { readonly turns?: number } = {}) {
  const chunks: { readonly rows: readonly string[]; readonly release: (error?: Error) => void }[] = [];
  const line: (() => void)[] = [];
  let free = turns;
  const batcher = new MicroBatcher({
    inTurn: async (_target, _timeoutMs, send) => {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => line.push(resolve));
      await send();
    },
    send: (_target, parts) =>
      new Promise((resolve, reject) => {
        const rows = parts.map(({ rows: [row = ''] }) => row);
        const release = (error?: Error) =>
          error ? reject(error) : resolve(rows.map((row) => scored(Number(row))));
        chunks.push({ rows, release });
      }),
  });
  return { chunks, batcher, giveTurn: () => line.shift()?.() };
}

/** A call that is over when the test says so. */
function call(timeoutMs = 1_000) {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { timeoutMs, ended, end };
}

const scoreOf = (reply: PartReply): number | undefined => ('scores' in reply ? reply.scores[0] : undefined);
const afterLooking = async () => {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};
const rowsOf = (chunks: readonly { readonly rows: readonly string[] }[]) => chunks.map((chunk) => chunk.rows);
const sizesOf = (chunks: readonly { readonly rows: readonly string[] }[]) =>
  chunks.map((chunk) => chunk.rows.length);

describe('SingleCoalescer', () => {
  it('sends a single that comes alone at once, and others of the same turn of the loop with it', async () => {
    const { chunks, batcher } = heldBatcher();
    const replies = ['1', '2'].map((row) => batcher.score(target('m'), part(row), call()));
    await afterLooking();
    expect(rowsOf(chunks)).to.deep.equal([['1', '2']]);
    chunks[0]?.release();
    expect((await Promise.all(replies)).map(scoreOf)).to.deep.equal([1, 2]);
  });

  it('sends the next as soon as as many wait as are under way, also those that were answered and are not over', async () => {
    const { chunks, batcher } = heldBatcher();
    for (const row of ['1', '2', '3', '4', '5', '6', '7']) {
      void batcher.score(target('m'), part(row), call());
      await afterLooking();
      for (const chunk of chunks) chunk.release();
    }
    expect(rowsOf(chunks)).to.deep.equal([['1'], ['2'], ['3', '4']]);
    void batcher.score(target('m'), part('8'), call());
    await afterLooking();
    expect(rowsOf(chunks)).to.deep.equal([['1'], ['2'], ['3', '4'], ['5', '6', '7', '8']]);
  });

  it('sends what waits when calls before it are over', async () => {
    const { chunks, batcher } = heldBatcher();
    const before = [call(), call(), call()];
    for (const each of before) void batcher.score(target('m'), part('0'), each);
    await afterLooking();
    void batcher.score(target('m'), part('1'), call());
    before[0]?.end();
    await afterLooking();
    expect(sizesOf(chunks)).to.deep.equal([3]);
    before[1]?.end();
    await afterLooking();
    expect(sizesOf(chunks)).to.deep.equal([3, 1]);
  });

  it('does not wait for long for calls that are slow, and not twice for the same', async () => {
    const { chunks, batcher } = heldBatcher();
    const slow = [call(), call()];
    for (const each of slow) void batcher.score(target('m'), part('0'), each);
    await afterLooking();
    const sinceMs = performance.now();
    void batcher.score(target('m'), part('1'), call());
    const beats = await beatsDuring(async () => {
      while (chunks.length < 2) await afterLooking();
    });
    expect(performance.now() - sinceMs).to.be.above(50);
    expect(beats, 'of 50 ms').to.be.below(20);
    for (const each of slow) each.end();
    void batcher.score(target('m'), part('2'), call());
    void batcher.score(target('m'), part('3'), call());
    await afterLooking();
    expect(rowsOf(chunks).slice(1)).to.deep.equal([['1'], ['2', '3']]);
    void batcher.score(target('m'), part('4'), call());
    void batcher.score(target('m'), part('5'), call());
    await afterLooking();
    expect(chunks, 'three are under way').to.have.length(3);
  });

  it('sends no more than thirty-two together, and does not wait when there are as many', async () => {
    const { chunks, batcher } = heldBatcher();
    for (let row = 0; row < 70; row += 1) void batcher.score(target('m'), part(String(row)), call());
    await afterLooking();
    expect(sizesOf(chunks)).to.deep.equal([32, 32]);
    for (let row = 0; row < 26; row += 1) void batcher.score(target('m'), part(String(row)), call());
    await afterLooking();
    expect(sizesOf(chunks)).to.deep.equal([32, 32, 32]);
  });

  it('lets a chunk that waits for its turn take on whoever comes meanwhile', async () => {
    const { chunks, batcher, giveTurn } = heldBatcher({ turns: 1 });
    void batcher.score(target('m'), part('0'), call());
    await afterLooking();
    void batcher.score(target('m'), part('1'), call());
    await afterLooking();
    void batcher.score(target('m'), part('2'), call());
    await afterLooking();
    expect(rowsOf(chunks)).to.deep.equal([['0']]);
    giveTurn();
    await afterLooking();
    expect(rowsOf(chunks)).to.deep.equal([['0'], ['1', '2']]);
  });

  it('does not send what has waited longer than its time', async () => {
    const { chunks, batcher, giveTurn } = heldBatcher({ turns: 0 });
    const late = batcher.score(target('m'), part('1'), call(5)).catch((error: unknown) => error);
    await new Promise((resolve) => setTimeout(resolve, 10));
    void batcher.score(target('m'), part('2'), call());
    giveTurn();
    expect(await late).to.be.instanceOf(Error);
    await afterLooking();
    expect(rowsOf(chunks)).to.deep.equal([['2']]);
  });

  it('sends those that come after its turn was refused', async () => {
    let isFull = true;
    const batcher = new MicroBatcher({
      inTurn: async (_target, _timeoutMs, send) => {
        if (isFull) throw new Error('overloaded');
        await send();
      },
      send: async () => [scored(1)],
    });
    const refused = batcher.score(target('m'), part('1'), call());
    expect(await failureOf(refused)).to.have.property('message', 'overloaded');
    isFull = false;
    expect(scoreOf(await batcher.score(target('m'), part('1'), call()))).to.equal(1);
  });

  it('gives a chunk the time that the last of its calls has', async () => {
    const timeoutsMs: number[] = [];
    const batcher = new MicroBatcher({
      inTurn: async (_target, timeoutMs, send) => {
        timeoutsMs.push(timeoutMs);
        await send();
      },
      send: async (_target, parts, timeoutMs) => {
        timeoutsMs.push(timeoutMs);
        return parts.map(() => scored(1));
      },
    });
    const calls = [60_000, 600_000, 60_000].map((timeoutMs) => call(timeoutMs));
    await Promise.all(calls.map((each) => batcher.score(target('m'), part('1'), each)));
    expect(timeoutsMs).to.have.length(2);
    for (const timeoutMs of timeoutsMs) expect(timeoutMs).to.be.within(540_000, 600_000);
  });

  it('never mixes models', async () => {
    const { chunks, batcher } = heldBatcher();
    void batcher.score(target('m'), part('1'), call());
    void batcher.score(target('n'), part('2'), call());
    await afterLooking();
    expect(rowsOf(chunks)).to.deep.equal([['1'], ['2']]);
  });

  it('never mixes calls from before and after the organisation got another model, whose leads are known too', async () => {
    const { chunks, batcher } = heldBatcher();
    const { organisationId, model } = target('m');
    void batcher.score({ organisationId, model }, part('1'), call());
    const after = { organisationId, model: { ...model, otherModelIds: ['n'] } };
    void batcher.score(after, part('2'), call());
    await afterLooking();
    expect(rowsOf(chunks)).to.deep.equal([['1'], ['2']]);
  });

  it('fails the singles of a chunk that fails, and no others', async () => {
    const { chunks, batcher } = heldBatcher();
    const replies = [batcher.score(target('m'), part('1'), call())];
    await afterLooking();
    for (const row of ['2', '3']) replies.push(batcher.score(target('m'), part(row), call()));
    const settled = Promise.allSettled(replies);
    await afterLooking();
    chunks[1]?.release(new Error('lost'));
    chunks[0]?.release();
    expect((await settled).map((outcome) => outcome.status)).to.deep.equal([
      'fulfilled',
      'rejected',
      'rejected',
    ]);
  });
});
