import { untilEnded } from '../shared/async/timeouts.js';
import type { UsageReport } from '../shared/contract/plans.js';
import type { Verdict } from '../shared/contract/verdict.js';
import type { Dispatcher, ScoredRows } from './dispatch/dispatcher.js';
import type { IdempotencyKeys, Reply } from './idempotency/idempotency.js';
import type { Metering } from './metering/metering.js';
import type { Recorder } from './record/recorder.js';
import { CallerGone } from './request/read-body.js';
import type { Admission } from './scoring/admission.js';
import type { ScoringCall } from './scoring/scoring-call.js';

/** What a scored call is answered with, before it is written out. */
export interface ScoreOutcome {
  readonly call: ScoringCall;
  readonly rows: ScoredRows;
  readonly usage: UsageReport;
  readonly verdict: Verdict;
}

/** Writes an outcome out as JSON, in the form of the endpoint that was called. */
export type WriteReply = (outcome: ScoreOutcome) => string;

/** The rooms that the story walks through. */
export interface ScoringDeps {
  readonly admission: Admission;
  readonly idempotencyKeys: IdempotencyKeys;
  readonly metering: Metering;
  readonly dispatcher: Dispatcher;
  readonly recorder: Recorder;
}

/**
 * The story of a call, from a checked body to the text of its answer. A reply means recorded; anything else is an
 * ApiError, or CallerGone where nobody waits for the answer any more, and the call was not counted.
 *
 * 1. A call that was answered before under the same Idempotency-Key is answered with that again.
 * 2. Admission: the organisation's plan, the model, its switch, its verdict.
 * 3. Reserve the records' share of the month's quota. A single goes ahead to 4 meanwhile where the hard stop is far.
 * 4. Dispatch the records to the workers and wait for their scores.
 * 5. Record ledger row, predictions and the reply to replay, all or nothing: the commit point.
 * 6. Settle: the reservation becomes usage.
 */
export async function scoreRecords(call: ScoringCall, write: WriteReply, deps: ScoringDeps): Promise<Reply> {
  const { admission, idempotencyKeys, metering, dispatcher, recorder } = deps;
  const story = async (ended: Promise<void>): Promise<Reply> => {
    const { organisation, model, verdict } = await admission.admit(call);
    const score = () => dispatcher.score(call, model, ended);
    const goesAhead = call.lane === 'singles' && metering.isFarFromStop(call, organisation);
    const ahead = goesAhead ? begun(score()) : undefined;
    const reservation = await metering.reserve(call, organisation);
    return await reservation.compensateOnFailure(async () => {
      const rows = await (ahead ?? score());
      if (call.hasHungUp()) throw new CallerGone('the caller hung up while waiting');
      const writeWith = (usage: UsageReport) => write({ call, rows, verdict, usage });
      const recorded = await recorder.record({ call, model, rows, reservation, writeWith });
      const usage = await reservation.settle(rows);
      return await idempotencyKeys.updateStoredReply(call, recorded, writeWith(usage));
    });
  };
  return await idempotencyKeys.once(call, () => untilEnded(story));
}

/** What nobody may come to wait for. */
function begun<Result>(work: Promise<Result>): Promise<Result> {
  work.catch(() => undefined);
  return work;
}
