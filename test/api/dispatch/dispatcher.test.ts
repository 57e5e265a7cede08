import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { expect } from 'chai';
import { Dispatcher, type DispatcherOptions } from '../../../api/dispatch/dispatcher.js';
import { NoReply } from '../../../api/dispatch/reply-stream.js';
import type { ScoringCall } from '../../../api/scoring-call.js';
import { ApiError } from '../../../shared/errors.js';
import { compileKnownFields } from '../../../shared/known-fields.js';
import type { ChunkReply, OutgoingPayload, PartReply } from '../../../shared/score-job.js';
import { failureOf } from '../../support/failure-of.js';

const model = {
  id: 'mdl',
  version: '1',
  knownFields: compileKnownFields({ features: [] }),
  otherModelIds: [],
};
const never = new Promise<never>(() => undefined);

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

/** A dispatcher whose chunks are answered as the test says. */
function dispatcherWith(answer: (payload: OutgoingPayload) => Promise<readonly PartReply[]>) {
  const sent: OutgoingPayload[] = [];
  const dropped: string[] = [];
  const replies = new Map<string, (reply: Promise<ChunkReply>) => void>();
  const queues = {
    windowSize: () => 100,
    add: async (_lane: string, payload: OutgoingPayload) => {
      sent.push(payload);
      const { chunk } = payload;
      replies.get(chunk)?.(answer(payload).then((parts) => ({ chunk, parts })));
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
  it('cuts a batch into chunks of at most 250 records, and tells what each record was scored from', async () => {
    const { dispatcher, sent, dropped } = dispatcherWith(async ({ parts: [part] }) => {
      const { rows = [], firstRow = 0 } = part ?? {};
      return [scoredRows(rows.length, [[1, `"filled into ${firstRow + 1}"`]])];
    });
    const { parts, fields } = await dispatcher.score(callOf(601), model, never);
    const shapes = sent.flatMap((payload) =>
      payload.parts.map(({ firstRow, rows }) => [firstRow, rows.length]),
    );
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

  it('has no more chunks of a call with the workers than the call says', async () => {
    let [underWay, most, untilSent] = [0, 0, 0];
    const { dispatcher, sent } = dispatcherWith(async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      do await turnOfTheLoop();
      while (sent.length < untilSent);
      underWay -= 1;
      return [scoredRows(1)];
    });
    await dispatcher.score(callOf(1_000, { chunksAtOnce: 1 }), model, never);
    expect([sent.length, most]).to.deep.equal([4, 1]);
    untilSent = 8;
    await dispatcher.score(callOf(1_000), model, never);
    expect([sent.length, most]).to.deep.equal([8, 4]);
  });

  it('takes back what it sent when no reply comes, so that no worker begins with it', async () => {
    const { dispatcher, sent, dropped } = dispatcherWith(() => Promise.reject(new NoReply('in time')));
    const error = await failureOf(dispatcher.score(callOf(1), model, never));
    expect(error).to.be.instanceOf(ApiError);
    expect((error as ApiError).entry.code).to.equal('internal_error');
    expect((error as ApiError).options.retryAfterSeconds).to.equal(1);
    const chunk = sent[0]?.chunk;
    expect(dropped).to.have.members([`reply ${chunk}`, `batches ${chunk}`]);
  });

  it('refuses a call of which one chunk cannot be featurized, by the places of its records', async () => {
    const { dispatcher } = dispatcherWith(async ({ parts: [part] }) => {
      const { firstRow = 0, rows = [] } = part ?? {};
      if (firstRow === 0) return [scoredRows(rows.length)];
      const problem = { record: firstRow + 3, field: 'size', expected: 'a number', came: 'an object' };
      return [{ problems: [problem], problemCount: 1 }];
    });
    const error = await failureOf(dispatcher.score(callOf(300), model, never));
    expect((error as ApiError).entry.code).to.equal('bad_request');
    expect((error as ApiError).message).to.include('records[253].size: expected a number, came an object');
  });
});
