import { expect } from 'chai';
import { acceptedCall } from '../../../api/call/score-outcome.js';
import type { ScoringCall } from '../../../api/call/scoring-call.js';
import { ColdVersions } from '../../../api/dispatch/cold-versions.js';
import { Dispatcher } from '../../../api/dispatch/dispatcher.js';
import { maxNameCharacters } from '../../../api/dispatch/field-names.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import type {
  ChunkReply,
  OutgoingPart,
  OutgoingPayload,
  RecordProblem,
  ScoredPart,
} from '../../../shared/messages/score-job.js';
import { eventually } from '../../support/eventually.js';
import { failureOf } from '../../support/failure-of.js';
import { scoredPart, scoringCall } from '../../support/scoring/scoring-call.js';

const model = {
  id: 'mdl',
  version: '1',
  knownFields: compileKnownFields({
    features: [{ type: 'number', field: 'size', label: 'Size', columns: [0] }],
  }),
};
const neverEnds = new Promise<never>(() => undefined);

const callOf = (records: number, more: Partial<ScoringCall> = {}) =>
  scoringCall({
    lane: 'bulk',
    tolerant: true,
    records: Array.from({ length: records }, (_, index) => ({ crmId: `L-${index}`, fields: { size: index } })),
    nameOfRecord: (index) => `row ${index}`,
    ...more,
  });

/** Answers a part as a worker that refuses the records whose size `refuses` names; scores are sizes. */
function answer(part: OutgoingPart, refuses: (size: number) => boolean): ScoredPart {
  const sizes = part.rows.map((row) => (JSON.parse(row) as readonly number[])[0] ?? Number.NaN);
  const problem = { field: 'size', expected: 'a number', came: 'an object' };
  const refused = sizes.flatMap((size, row) => (refuses(size) ? [{ record: part.firstRow + row, ...problem }] : []));
  const scores = sizes.filter((size) => !refuses(size));
  return scoredPart(scores, {
    filled: scores.length > 1 ? [[1, `[${scores[1]},"filled"]`]] : [],
    ...(refused.length > 0 && { refused }),
  });
}

function dispatcherThatRefuses(refuses: (size: number) => boolean) {
  const sent: { readonly lane: string; readonly payload: OutgoingPayload }[] = [];
  const replies = new Map<string, (reply: ChunkReply) => void>();
  const queues = {
    partitions: 1,
    windowSize: () => 100,
    workersOf: () => 4,
    isWithoutWorkers: () => false,
    add: async (lane: string, payload: OutgoingPayload) => {
      sent.push({ lane, payload });
      const { chunk, parts } = payload;
      replies.get(chunk)?.({ chunk, parts: parts.map((part) => answer(part, refuses)) });
    },
    cancel: () => undefined,
  };
  const stream = {
    waitFor: (chunk: string) => new Promise<ChunkReply>((resolve) => replies.set(chunk, resolve)),
    forget: () => undefined,
  };
  return {
    dispatcher: new Dispatcher({ gatewayId: 'gw', queues, replies: stream, coldVersions: new ColdVersions() }),
    sent,
  };
}

describe('a tolerant call', () => {
  it('gets the scores and fields of its accepted records, and the problems of the others', async () => {
    const { dispatcher, sent } = dispatcherThatRefuses((size) => size % 3 === 0);
    const call = callOf(600);
    const rows = await dispatcher.score(call, model, neverEnds);
    expect(sent.map(({ lane, payload }) => [lane, payload.parts.map(({ tolerant }) => tolerant)])).to.deep.equal(
      [1, 2, 3].map(() => ['bulk', [true]]),
    );
    const accepted = call.records.flatMap((_, index) => (index % 3 === 0 ? [] : [index]));
    expect(rows.parts.flatMap(({ scores }) => scores)).to.deep.equal(accepted);
    const sizes = rows.fields.map((text) => (JSON.parse(text) as readonly number[])[0]);
    expect(sizes).to.deep.equal(accepted);
    expect(rows.fields.filter((text) => text.includes('filled'))).to.have.length(3);
    expect(rows.refused.map(({ record }) => record)).to.deep.equal(
      call.records.flatMap((_, index) => (index % 3 === 0 ? [index] : [])),
    );
    const recorded = acceptedCall(call, rows);
    expect(recorded.records.map(({ crmId }) => crmId)).to.deep.equal(accepted.map((index) => `L-${index}`));
    expect([recorded.nameOfRecord(0), recorded.nameOfRecord(399)]).to.deep.equal(['row 1', 'row 599']);
    expect(recorded).to.include({ lane: 'bulk', tolerant: true, bucket: 'live' });
  });

  it('stays the same call when no record is refused', async () => {
    const { dispatcher } = dispatcherThatRefuses(() => false);
    const call = callOf(2);
    const rows = await dispatcher.score(call, model, neverEnds);
    expect(rows.refused).to.deep.equal([]);
    expect(acceptedCall(call, rows)).to.equal(call);
  });

  it('is empty when all records are refused', () => {
    const refused: RecordProblem[] = [0, 1].map((record) => ({ record, field: '', expected: 'one', came: 'none' }));
    expect(acceptedCall(callOf(2), { refused }).records).to.deep.equal([]);
  });

  it('may have any number of field names, unlike a strict one', async () => {
    const { dispatcher } = dispatcherThatRefuses(() => false);
    const name = (index: number) => `${index} ${'x'.repeat(500)}`;
    const fields = Object.fromEntries(
      Array.from({ length: maxNameCharacters / 500 + 1 }, (_, index) => [name(index), index]),
    );
    const records = [{ crmId: null, fields: { ...fields, size: 5 } }];
    const rows = await dispatcher.score(callOf(0, { records }), model, neverEnds);
    expect(rows.parts[0]?.scores).to.deep.equal([5]);
    const strict = dispatcher.score(callOf(0, { records, tolerant: false }), model, neverEnds);
    expect((await failureOf(strict)).message).to.include('different field names');
  });
});

describe('a call without lookups', () => {
  it('sends no crm_ids to the workers, also under a live key', async () => {
    const { dispatcher, sent } = dispatcherThatRefuses(() => false);
    for (const withoutLookups of [true, false]) await dispatcher.score(callOf(1, { withoutLookups }), model, neverEnds);
    expect(sent.map(({ payload }) => payload.parts[0]?.crmIds)).to.deep.equal([[null], ['L-0']]);
  });
});

describe('the lane of bulk jobs', () => {
  it('has a queue of its own, so that its waiting chunks delay no batch', async () => {
    const sent: string[] = [];
    const queues = {
      partitions: 1,
      windowSize: (lane: string) => (lane === 'bulk' ? 1 : 100),
      workersOf: () => 4,
      isWithoutWorkers: () => false,
      add: async (lane: string) => void sent.push(lane),
      cancel: () => undefined,
    };
    const stream = { waitFor: () => neverEnds, forget: () => undefined };
    const dispatcher = new Dispatcher({
      gatewayId: 'gw',
      queues,
      replies: stream,
      coldVersions: { run: (_loaded, _timeoutMs, send) => send() },
    });
    const start = (call: ScoringCall) => void dispatcher.score(call, model, neverEnds).catch(() => undefined);
    start(callOf(1_000));
    start(callOf(250, { lane: 'batches', tolerant: false }));
    await eventually(() => expect(dispatcher.waiting('bulk')).to.equal(3));
    await eventually(() => expect(sent).to.have.members(['bulk', 'batches']));
    expect(dispatcher.waiting('batches')).to.equal(0);
  });
});
