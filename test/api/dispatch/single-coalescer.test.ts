import { expect } from 'chai';
import { SingleCoalescer } from '../../../api/dispatch/single-coalescer.js';
import { compileKnownFields } from '../../../shared/known-fields.js';
import type { OutgoingPart, PartReply, ScoredPart } from '../../../shared/score-job.js';

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
function heldCoalescer({ turns = Number.POSITIVE_INFINITY }: { readonly turns?: number } = {}) {
  const chunks: { readonly rows: readonly string[]; readonly release: (error?: Error) => void }[] = [];
  const line: (() => void)[] = [];
  let free = turns;
  const coalescer = new SingleCoalescer({
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
  return { chunks, coalescer, giveTurn: () => line.shift()?.() };
}

const scoreOf = (reply: PartReply): number | undefined => ('scores' in reply ? reply.scores[0] : undefined);
const afterGathering = () => new Promise((resolve) => setTimeout(resolve, 20));
const rowsOf = (chunks: readonly { readonly rows: readonly string[] }[]) => chunks.map((chunk) => chunk.rows);

describe('SingleCoalescer', () => {
  it('sends a single that comes alone at once', () => {
    const { chunks, coalescer } = heldCoalescer();
    void coalescer.score(target('m'), part('1'), 1_000);
    expect(rowsOf(chunks)).to.deep.equal([['1']]);
  });

  it('gathers the singles that come right after one another, and gives each its own answer', async () => {
    const { chunks, coalescer } = heldCoalescer();
    const replies = ['1', '2', '3', '4'].map((row) => coalescer.score(target('m'), part(row), 1_000));
    await afterGathering();
    expect(rowsOf(chunks)).to.deep.equal([['1'], ['2', '3', '4']]);
    for (const chunk of chunks) chunk.release();
    expect((await Promise.all(replies)).map(scoreOf)).to.deep.equal([1, 2, 3, 4]);
  });

  it('sends no more than thirty-two together, and does not wait when there are as many', async () => {
    const { chunks, coalescer } = heldCoalescer();
    for (let row = 0; row < 70; row += 1) void coalescer.score(target('m'), part(String(row)), 1_000);
    expect(chunks.map((chunk) => chunk.rows.length)).to.deep.equal([1, 32, 32]);
    await afterGathering();
    expect(chunks.map((chunk) => chunk.rows.length)).to.deep.equal([1, 32, 32, 5]);
  });

  it('lets a chunk that waits for its turn take on whoever comes meanwhile', async () => {
    const { chunks, coalescer, giveTurn } = heldCoalescer({ turns: 1 });
    void coalescer.score(target('m'), part('0'), 1_000);
    void coalescer.score(target('m'), part('1'), 1_000);
    await afterGathering();
    void coalescer.score(target('m'), part('2'), 1_000);
    await afterGathering();
    expect(rowsOf(chunks)).to.deep.equal([['0']]);
    giveTurn();
    await afterGathering();
    expect(rowsOf(chunks)).to.deep.equal([['0'], ['1', '2']]);
  });

  it('does not send what has waited longer than its time', async () => {
    const { chunks, coalescer, giveTurn } = heldCoalescer({ turns: 0 });
    const late = coalescer.score(target('m'), part('1'), 5).catch((error: unknown) => error);
    await afterGathering();
    void coalescer.score(target('m'), part('2'), 1_000);
    giveTurn();
    expect(await late).to.be.instanceOf(Error);
    expect(rowsOf(chunks)).to.deep.equal([['2']]);
  });

  it('never mixes models', () => {
    const { chunks, coalescer } = heldCoalescer();
    void coalescer.score(target('m'), part('1'), 1_000);
    void coalescer.score(target('n'), part('2'), 1_000);
    expect(rowsOf(chunks)).to.deep.equal([['1'], ['2']]);
  });

  it('fails the singles of a chunk that fails, and no others', async () => {
    const { chunks, coalescer } = heldCoalescer();
    const replies = ['1', '2', '3'].map((row) => coalescer.score(target('m'), part(row), 1_000));
    const settled = Promise.allSettled(replies);
    await afterGathering();
    chunks[1]?.release(new Error('lost'));
    chunks[0]?.release();
    expect((await settled).map((outcome) => outcome.status)).to.deep.equal([
      'fulfilled',
      'rejected',
      'rejected',
    ]);
  });
});
