import { expect } from 'chai';
import { Metering, type MeteringOptions, RecordedButUnanswered } from '../../../api/admission/metering.js';
import { createLogger } from '../../../shared/process/logger.js';
import { QuotaLeaseLost, QuotaWouldCrossStop } from '../../../shared/quota/commands.js';
import type { Quota, Usage } from '../../../shared/quota/quota.js';
import { failureOf } from '../../support/failure-of.js';
import { deadlineIn, scoredPart, scoredRows, scoringCall } from '../../support/scoring/scoring-call.js';
import { organisationOf } from '../../support/scoring/stored-documents.js';

const organisation = organisationOf({ limit: 100 });

const callOf = (leftMs = 5_000) =>
  scoringCall({
    records: [
      { crmId: 'L-1', fields: {} },
      { crmId: null, fields: {} },
    ],
    deadline: deadlineIn(leftMs, { redisMs: 1_234.5 }),
  });

const rowsOf = (...epochs: readonly string[]) =>
  scoredRows(epochs.map((epoch, index) => scoredPart([10 + index], { epoch, ...(index === 0 && { gaps: [5] }) })));

/** Metering on a quota that answers with these functions. Collects its steps and the latest scores that it settled. */
function meteringOn({
  reserve = async (call) => ({ ...call, used: 40, leased: 9 }),
  settle = async () => ({ used: 42, leased: 7 }),
  isFull = false,
}: {
  readonly reserve?: Quota['reserve'];
  readonly settle?: () => Promise<Usage>;
  readonly isFull?: boolean;
} = {}) {
  const done: string[] = [];
  const settled: unknown[] = [];
  const quota: MeteringOptions['quota'] = {
    reserve,
    settle: (_counter, _callId, how) => {
      done.push('settle');
      settled.push(how?.latest);
      return settle();
    },
    release: () => expect.fail('records were released'),
    usage: () => expect.fail('the usage was read'),
  };
  const callVoider = {
    begin: async () => void done.push('void'),
    invalidateScores: () => expect.fail('the scores were invalidated'),
    isFull,
  };
  const clock = { now: () => Date.UTC(2026, 1, 10) };
  const options = { quota, callVoider, clock, logger: createLogger('silent', 'test') };
  return { done, settled, metering: new Metering(options) };
}

describe("a call's reservation", () => {
  const failure = new Error('of its own');

  it('is voided when the call fails after it was recorded', async () => {
    const { done, metering } = meteringOn();
    const reservation = await metering.reserve(callOf(), organisation);
    const failed = reservation.compensateOnFailure(async () => {
      await reservation.settle(rowsOf('one'), '2');
      throw failure;
    });
    expect(await failureOf(failed)).to.equal(failure);
    expect(done).to.deep.equal(['settle', 'void']);
  });

  it('is voided when the call ends after the fence', async () => {
    const { done, metering } = meteringOn();
    const reservation = await metering.reserve(callOf(-1_000), organisation);
    const late = await failureOf(reservation.compensateOnFailure(async () => 'the reply'));
    expect(late).to.be.instanceOf(RecordedButUnanswered).and.to.have.nested.property('options.retryAfterSeconds', 1);
    expect(done).to.deep.equal(['void']);
  });

  it('is settled with the epoch of its scores, or with none when its chunks have different epochs', async () => {
    for (const [epochs, epoch] of [
      [['one', 'one'], 'one'],
      [['one', 'two'], ''],
    ] as const) {
      const { settled, metering } = meteringOn();
      const reservation = await metering.reserve(callOf(), organisation);
      await reservation.settle(rowsOf(...epochs), '2');
      const scored = { modelId: 'mdl', version: '2', crmIds: ['L-1', null], scores: [10, 11], gaps: [5, 0] };
      expect(settled).to.deep.equal([{ ...scored, epoch }]);
    }
  });

  it('fails the call when its lease is lost', async () => {
    const { done, metering } = meteringOn({ settle: () => Promise.reject(new QuotaLeaseLost('gone')) });
    const reservation = await metering.reserve(callOf(), organisation);
    expect(await failureOf(reservation.settle(rowsOf('one', 'one'), '2'))).to.be.instanceOf(RecordedButUnanswered);
    expect(done).to.deep.equal(['settle']);
  });

  it('is refused without Redis while too many calls wait to be voided', async () => {
    const reserve = () => expect.fail('records were reserved');
    const { metering } = meteringOn({ reserve, isFull: true });
    const failure = await failureOf(metering.reserve(callOf(), organisation));
    expect(failure).to.have.nested.property('options.retryAfterSeconds', 1);
    expect(failure.message).to.include('does not confirm its writes');
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
