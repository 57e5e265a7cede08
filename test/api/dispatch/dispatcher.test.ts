import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { expect } from 'chai';
import { Dispatcher, type DispatcherOptions } from '../../../api/dispatch/dispatcher.js';
import { NoReply } from '../../../api/dispatch/reply-stream.js';
import type { ScoringCall } from '../../../api/scoring/scoring-call.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import type { ChunkFailure, ChunkReply, OutgoingPayload, PartReply } from '../../../shared/messages/score-job.js';
import { failureOf } from '../../support/failure-of.js';

const model = {
  id: 'mdl',
  version: '1',
  knownFields: compileKnownFields({ features: [] }),
  otherModelIds: [],
};

const neverEnds = new Promise<never>(() => undefined);

const callOf = (records: number, more: Partial<ScoringCall> = {}) =>
  ({
    apiKey: { organisation_id: 'org' },
    lane: 'batches',
    records: Array.from({ length: records }, () => ({ crmId: null, fields: {} })),
    nameOfRecord: (index: number) => `records[${index}]`,
    deadline: { monotonicMs: performance.now() + 5_000 },
    ...more,
  }) as unknown as ScoringCall;

const scoredRows = (count: number, filled: readonly (readonly [number, string])[] = []) =>
  ({ scores: Array.from({ length: count }, () => 50), filled }) as unknown as PartReply;

/** A dispatcher whose chunks are answered as the test says, with a failure where it names one. */
function dispatcherWith(
  answer: (payload: OutgoingPayload) => Promise<readonly PartReply[]>,
  failure?: ChunkFailure,
  windowSize = 100,
) {
  const sent: OutgoingPayload[] = [];
  const dropped: string[] = [];
  const replies = new Map<string, (reply: Promise<ChunkReply>) => void>();
  const queues = {
    windowSize: () => windowSize,
    add: async (_lane: string, payload: OutgoingPayload) => {
      sent.push(payload);
      const { chunk } = payload;
      const reply = answer(payload).then((parts) => ({ chunk, parts, ...(failure ? { failure } : {}) }));
      replies.get(chunk)?.(reply);
    },
    cancel: (lane: string, chunk: string) => void dropped.push(`${lane} ${chunk}`),
  };
  const stream = {
    waitFor: (chunk: string) => new Promise<ChunkReply>((resolve) => replies.set(chunk, resolve)),
    forget: (chunk: string) => void dropped.push(`reply ${chunk}`),
  };
  const options = { gatewayId: 'gw', queues, replies: stream } as unknown as DispatcherOptions;
  return { dispatcher: new Dispatcher(options), sent, dropped };
}

describe('Dispatcher', () => {
  it('cuts a batch into chunks of at most 250 records, and returns the fields of each record', async () => {
    const { dispatcher, sent, dropped } = dispatcherWith(async ({ parts: [part] }) => {
      const { rows = [], firstRow = 0 } = part ?? {};
      return [scoredRows(rows.length, [[1, `"filled into ${firstRow + 1}"`]])];
    });
    const { parts, fields } = await dispatcher.score(callOf(601), model, neverEnds);
    const shapes = sent.flatMap((payload) => payload.parts.map(({ firstRow, rows }) => [firstRow, rows.length]));
    expect(shapes).to.deep.equal([
      [0, 250],
      [250, 250],
      [500, 101],
    ]);
    expect(parts.flatMap(({ scores }) => scores)).to.have.length(601);
    expect(fields).to.have.length(601);
    const filled = fields.flatMap((text, row) => (text.startsWith('"filled') ? [[row, text]] : []));
    expect(filled).to.deep.equal([1, 251, 501].map((row) => [row, `"filled into ${row}"`]));
    expect(dropped).to.deep.equal([]);
  });

  const single = (timeoutMs = 5_000) =>
    callOf(1, { lane: 'singles', deadline: { monotonicMs: performance.now() + timeoutMs, redisMs: 0 } });

  it('sends singles of one turn in one chunk, and gives each its own reply', async () => {
    const { dispatcher, sent } = dispatcherWith(async ({ parts }) =>
      parts.map((_, index) => ({ ...scoredRows(1), scores: [index] }) as unknown as PartReply),
    );
    const scored = await Promise.all([1, 2, 3].map(() => dispatcher.score(single(), model, neverEnds)));
    expect(sent).to.have.length(1);
    expect(scored.map(({ parts }) => parts[0]?.scores)).to.deep.equal([[0], [1], [2]]);
  });

  it('sends at most thirty-two singles in one chunk', async () => {
    const { dispatcher, sent } = dispatcherWith(async ({ parts }) => parts.map(() => scoredRows(1)));
    await Promise.all(Array.from({ length: 70 }, () => dispatcher.score(single(), model, neverEnds)));
    expect(sent.map(({ parts }) => parts.length)).to.deep.equal([32, 32, 6]);
  });

  it('never mixes models in a chunk, nor calls from before and after the organisation got another model', async () => {
    const { dispatcher, sent } = dispatcherWith(async ({ parts }) => parts.map(() => scoredRows(1)));
    const models = [model, { ...model, id: 'other' }, { ...model, otherModelIds: ['new'] }];
    await Promise.all(models.map((each) => dispatcher.score(single(), each, neverEnds)));
    expect(sent.map(({ parts }) => parts.length)).to.deep.equal([1, 1, 1]);
  });

  it('rejects a single that expires while its chunk waits for a place in the lane, and scores the others', async () => {
    const ends: (() => void)[] = [];
    const { dispatcher, sent } = dispatcherWith(
      async ({ parts }) => {
        await new Promise<void>((resolve) => ends.push(resolve));
        return parts.map(() => scoredRows(1));
      },
      undefined,
      1,
    );
    const first = dispatcher.score(single(), model, neverEnds);
    await turnOfTheLoop();
    await turnOfTheLoop();
    const late = failureOf(dispatcher.score(single(20), model, neverEnds));
    const inTime = dispatcher.score(single(), model, neverEnds);
    await new Promise((resolve) => setTimeout(resolve, 40));
    ends[0]?.();
    await first;
    while (ends.length < 2) await turnOfTheLoop();
    ends[1]?.();
    expect(await late).to.be.instanceOf(ApiError);
    await inTime;
    expect(sent.map(({ parts }) => parts.length)).to.deep.equal([1, 1]);
  });

  it('fails a call with the error of one chunk, also while other chunks are packed', async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => void unhandled.push(error);
    process.on('unhandledRejection', note);
    try {
      const { dispatcher, sent } = dispatcherWith(() => Promise.reject(new NoReply('at once')));
      const error = await failureOf(dispatcher.score(callOf(1_000), model, neverEnds));
      expect((error as ApiError).message).to.equal('The records could not be scored in time.');
      expect(sent).to.have.length(4);
    } finally {
      process.off('unhandledRejection', note);
    }
    expect(unhandled).to.deep.equal([]);
  });

  it('distinguishes a failed chunk from a timeout, both with Retry-After', async () => {
    const failure = { code: 'scoring_failed', message: 'the model does not run' } as const;
    const { dispatcher } = dispatcherWith(async () => [], failure);
    const error = await failureOf(dispatcher.score(callOf(1), model, neverEnds));
    expect(error).to.be.instanceOf(ApiError).and.to.have.property('message', 'The records could not be scored.');
    expect((error as ApiError).options).to.deep.equal({
      cause: failure,
      retryAfterSeconds: 1,
    });
  });

  it('cancels a chunk without a reply, so that no worker starts it', async () => {
    const { dispatcher, sent, dropped } = dispatcherWith(() => Promise.reject(new NoReply('in time')));
    const error = await failureOf(dispatcher.score(callOf(1), model, neverEnds));
    expect(error).to.be.instanceOf(ApiError);
    expect((error as ApiError).entry.code).to.equal('internal_error');
    expect((error as ApiError).options.retryAfterSeconds).to.equal(1);
    const chunk = sent[0]?.chunk;
    expect(dropped).to.have.members([`reply ${chunk}`, `batches ${chunk}`]);
  });

  it('refuses a call when one chunk cannot be featurized, and names the records', async () => {
    const { dispatcher } = dispatcherWith(async ({ parts: [part] }) => {
      const { firstRow = 0, rows = [] } = part ?? {};
      if (firstRow === 0) return [scoredRows(rows.length)];
      const problem = { record: firstRow + 3, field: 'size', expected: 'a number', came: 'an object' };
      return [{ problems: [problem], problemCount: 1 }];
    });
    const error = await failureOf(dispatcher.score(callOf(300), model, neverEnds));
    expect((error as ApiError).entry.code).to.equal('bad_request');
    expect((error as ApiError).message).to.include('records[253].size: expected a number, came an object');
  });
});
