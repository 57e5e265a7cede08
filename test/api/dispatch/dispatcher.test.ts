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
};

const neverEnds = new Promise<never>(() => undefined);

const callOf = (records: number, more: Partial<ScoringCall> = {}) =>
  ({
    apiKey: { organisation_id: 'org' },
    bucket: 'live',
    lane: 'batches',
    records: Array.from({ length: records }, () => ({ crmId: null, fields: {} })),
    nameOfRecord: (index: number) => `records[${index}]`,
    deadline: { monotonicMs: performance.now() + 5_000 },
    ...more,
  }) as unknown as ScoringCall;

const scoredRow = { scores: [50] } as unknown as PartReply;

/** A dispatcher whose chunks are answered by `answer`. Collects the payloads that it sends and the ids that it drops. */
function dispatcherWith(
  answer: (payload: OutgoingPayload) => Promise<readonly PartReply[]>,
  { windowSize = 100, failure }: { readonly windowSize?: number; readonly failure?: ChunkFailure } = {},
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
  const single = (timeoutMs = 5_000) =>
    callOf(1, {
      lane: 'singles',
      deadline: { monotonicMs: performance.now() + timeoutMs, redisMs: 0, arrivedRedisMs: 0 },
    });

  it('sends singles of one turn in one chunk for each model', async () => {
    const { dispatcher, sent } = dispatcherWith(async ({ parts }) => parts.map(() => scoredRow));
    const models = [model, { ...model, id: 'other' }];
    await Promise.all([...models, ...models].map((each) => dispatcher.score(single(), each, neverEnds)));
    expect(sent.map(({ parts }) => parts.length)).to.deep.equal([2, 2]);
  });

  it('sends the crm_ids of live keys to the workers, and none of test keys', async () => {
    const { dispatcher, sent } = dispatcherWith(async ({ parts }) => parts.map(() => scoredRow));
    const records = [{ crmId: 'L-1', fields: {} }];
    for (const bucket of ['live', 'test'] as const)
      await dispatcher.score(callOf(0, { bucket, records }), model, neverEnds);
    expect(sent.map(({ parts }) => parts.map(({ crmIds }) => crmIds))).to.deep.equal([[['L-1']], [[null]]]);
  });

  it('rejects a single that expires while its chunk waits for a place in the lane, and scores the others', async () => {
    const ends: (() => void)[] = [];
    const answer = async ({ parts }: OutgoingPayload) => {
      await new Promise<void>((resolve) => ends.push(resolve));
      return parts.map(() => scoredRow);
    };
    const { dispatcher, sent } = dispatcherWith(answer, { windowSize: 1 });
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

  for (const [maxChunks, expected] of [
    [1, [1, 2, 3, 4]],
    [3, [3, 4, 4, 4]],
    [undefined, [4, 4, 4, 4]],
  ] as const)
    it(`has at most ${maxChunks ?? 'all'} chunks of a call in flight when the call says so`, async () => {
      const ends: (() => void)[] = [];
      const { dispatcher, sent } = dispatcherWith(async () => {
        await new Promise<void>((resolve) => ends.push(resolve));
        return [scoredRow];
      });
      const call = callOf(1_000, maxChunks === undefined ? {} : { maxChunks });
      const scored = dispatcher.score(call, model, neverEnds);
      const counts: number[] = [];
      for (let ended = 0; ended < 4; ended += 1) {
        for (let turn = 0; turn < 20; turn += 1) await turnOfTheLoop(); // longer than packing the call takes
        counts.push(sent.length);
        ends[ended]?.();
      }
      await scored;
      expect(counts).to.deep.equal(expected);
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

  it('names a failed chunk otherwise than a timeout, with Retry-After', async () => {
    const failure = { code: 'scoring_failed', message: 'the model does not run' } as const;
    const { dispatcher } = dispatcherWith(async () => [], { failure });
    const error = await failureOf(dispatcher.score(callOf(1), model, neverEnds));
    expect(error).to.be.instanceOf(ApiError).and.to.have.property('message', 'The records could not be scored.');
    expect((error as ApiError).options).to.deep.equal({ cause: failure, retryAfterSeconds: 1 });
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
});
