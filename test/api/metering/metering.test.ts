import { expect } from 'chai';
import type { ScoredRows } from '../../../api/dispatch/dispatcher.js';
import { RecordedButUnanswered } from '../../../api/metering/call-reservation.js';
import { Metering, type MeteringOptions } from '../../../api/metering/metering.js';
import type { ScoringCall } from '../../../api/scoring/scoring-call.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { createLogger } from '../../../shared/process/logger.js';
import { QuotaLeaseLost, QuotaWouldCrossStop } from '../../../shared/quota/codes.js';
import type { Organisation } from '../../../shared/store/accounts/organisations.js';
import { failureOf } from '../../support/failure-of.js';

const organisation = { _id: 'org', plan: 'pro', limit: 100 } as Organisation;
const never = new Promise<never>(() => undefined);

const callOf = (bucket: ScoringCall['bucket'] = 'live', leftMs = 5_000) =>
  ({
    id: 'call',
    bucket,
    modelId: 'mdl',
    records: [
      { crmId: 'L-1', fields: {} },
      { crmId: null, fields: {} },
    ],
    deadline: { monotonicMs: performance.now() + leftMs, redisMs: 1_234.5 },
  }) as unknown as ScoringCall;

const rowsOf = (...epochs: readonly string[]) =>
  ({
    parts: epochs.map((epoch, index) => ({ scores: [10 + index], epoch })),
  }) as unknown as ScoredRows;

/** Metering on a quota that answers as the test says, and what it was asked to do. */
function meteringOn(
  answers: { readonly reserve?: (asked: unknown) => Promise<unknown>; readonly settle?: () => Promise<unknown> } = {},
) {
  const done: unknown[] = [];
  const noted = (name: string, of: unknown) => void done.push([name, of]);
  const { reserve = async () => ({ used: 40, leased: 9 }), settle = async () => ({ used: 42, leased: 7 }) } = answers;
  const quota = {
    reserve,
    settle: (_counter: unknown, _callId: string, how: unknown) => {
      noted('settle', how);
      return settle();
    },
    release: async (_counter: unknown, callId: string) => {
      noted('release', callId);
      return true;
    },
  };
  const callVoider = {
    begin: ({ callId }: { readonly callId: string }) => noted('take back', callId),
    invalidateScores: ({ modelId }: { readonly modelId: string }) => noted('forget scores', modelId),
  };
  const clock = { now: () => Date.UTC(2026, 1, 10) };
  const options = { quota, callVoider, clock, logger: createLogger('silent', 'test') };
  return { done, metering: new Metering(options as unknown as MeteringOptions) };
}

describe("a call's reservation", () => {
  const failure = new Error('of its own');

  it('reports usage with the call included and other holds excluded', async () => {
    const { metering } = meteringOn();
    const { usageIfSettled } = await metering.reserve(callOf(), organisation);
    expect(usageIfSettled).to.include({ current: 42, limit: 100, backstop: 200 });
  });

  it("reserves all records under the hard stop, with the call's deadline", async () => {
    const asked: unknown[] = [];
    const { metering } = meteringOn({
      reserve: async (call) => {
        asked.push(call);
        return { used: 2, leased: 0 };
      },
    });
    const { counter } = await metering.reserve(callOf(), organisation);
    expect(counter).to.deep.equal({ organisationId: 'org', bucket: 'live', month: '2026-02' });
    expect(asked).to.deep.equal([{ counter, callId: 'call', records: 2, stop: 200, deadlineRedisMs: 1_234 }]);
  });

  it('fails with 500 and Retry-After while Redis does not answer', async () => {
    const away = new Error('Redis is away');
    const { metering } = meteringOn({ reserve: () => Promise.reject(away) });
    const failure = await failureOf(metering.reserve(callOf(), organisation));
    expect(failure).to.be.instanceOf(ApiError).and.to.have.property('errorName', 'internalError');
    expect(failure).to.have.property('options').that.deep.equals({ cause: away, retryAfterSeconds: 1 });
  });

  it('is released when the call fails before it is recorded', async () => {
    const { done, metering } = meteringOn();
    const reservation = await metering.reserve(callOf(), organisation);
    expect(await failureOf(reservation.compensateOnFailure(() => Promise.reject(failure)))).to.equal(failure);
    expect(done).to.deep.equal([['release', 'call']]);
  });

  it('is voided when the call fails after it was recorded, or may have been', async () => {
    const recorded = meteringOn();
    const reservation = await recorded.metering.reserve(callOf('test'), organisation);
    const failed = reservation.compensateOnFailure(async () => {
      await reservation.settle(rowsOf('one'));
      throw failure;
    });
    expect(await failureOf(failed)).to.equal(failure);
    expect(recorded.done).to.deep.equal([
      ['settle', { stop: 1_000, latest: undefined }],
      ['take back', 'call'],
    ]);
    const unknown = meteringOn();
    const other = await unknown.metering.reserve(callOf(), organisation);
    const inVain = new RecordedButUnanswered('who knows');
    expect(await failureOf(other.compensateOnFailure(() => Promise.reject(inVain)))).to.equal(inVain);
    expect(unknown.done).to.deep.equal([['take back', 'call']]);
  });

  it('is voided when the call ends after the fence', async () => {
    const { done, metering } = meteringOn();
    const reservation = await metering.reserve(callOf('live', -1_000), organisation);
    const late = await failureOf(reservation.compensateOnFailure(async () => 'the reply'));
    expect(late).to.be.instanceOf(RecordedButUnanswered).and.to.have.nested.property('options.retryAfterSeconds', 1);
    expect(done).to.deep.equal([['take back', 'call']]);
  });

  it('is settled with the hard stop and, for live keys, with the scores of one epoch', async () => {
    for (const [bucket, epochs, stop, latest] of [
      ['live', ['one', 'one'], 200, { epoch: 'one', modelId: 'mdl', crmIds: ['L-1', null], scores: [10, 11] }],
      ['live', ['one', 'two'], 200, { epoch: '', modelId: 'mdl', crmIds: ['L-1', null], scores: [10, 11] }],
      ['test', ['one', 'one'], 1_000, undefined],
    ] as const) {
      const { done, metering } = meteringOn();
      const reservation = await metering.reserve(callOf(bucket), organisation);
      expect(await reservation.settle(rowsOf(...epochs))).to.include({ current: 42 });
      expect(done).to.deep.equal([['settle', { stop, latest }]]);
    }
  });

  it('is left to the sweep when settling is not confirmed in time, and invalidates the latest scores', async () => {
    const { done, metering } = meteringOn({ settle: () => never });
    const reservation = await metering.reserve(callOf('live', 20), organisation);
    expect(await reservation.settle(rowsOf('one', 'one'))).to.deep.equal(reservation.usageIfSettled);
    expect(done.slice(1)).to.deep.equal([['forget scores', 'mdl']]);
  });

  it('fails the call when its lease is lost', async () => {
    const { done, metering } = meteringOn({ settle: () => Promise.reject(new QuotaLeaseLost('gone')) });
    const reservation = await metering.reserve(callOf(), organisation);
    expect(await failureOf(reservation.settle(rowsOf('one', 'one')))).to.be.instanceOf(RecordedButUnanswered);
    expect(done).to.have.length(1);
  });

  it('names the stop, the usage and the calls in flight when a call would cross the stop', async () => {
    const { metering } = meteringOn({
      reserve: async () => {
        throw new QuotaWouldCrossStop({ used: 195, leased: 5 });
      },
    });
    const { message } = await failureOf(metering.reserve(callOf(), organisation));
    expect(message).to.include('2 more records would pass the backstop of 200').and.include('5 in calls in flight');
  });
});
