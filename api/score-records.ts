import type { UsageReport } from '../shared/contract/plans.js';
import type { Admission } from './admission/admission.js';
import type { IdempotencyKeys, Reply } from './admission/idempotency.js';
import type { Metering } from './admission/metering.js';
import { noticesOf } from './call/notices.js';
import type { WriteReply } from './call/score-outcome.js';
import type { ScoringCall } from './call/scoring-call.js';
import type { Dispatcher } from './dispatch/dispatcher.js';
import type { FieldDays } from './record/field-days.js';
import type { Recorder } from './record/recorder.js';
import { CallerGone } from './request/read-body.js';

export interface ScoringDeps {
  readonly admission: Pick<Admission, 'admit'>;
  readonly idempotencyKeys: Pick<IdempotencyKeys, 'once' | 'updateStoredReply'>;
  readonly metering: Pick<Metering, 'reserve'>;
  readonly dispatcher: Pick<Dispatcher, 'score'>;
  readonly recorder: Pick<Recorder, 'record'>;
  readonly fieldDays: Pick<FieldDays, 'add'>;
}

/**
 * The story of a call, from a checked body to the text of its answer. A reply means that the call is recorded. An
 * ApiError, or CallerGone when the caller hung up, means that it is not counted.
 *
 * 1. Idempotency: a call with a known Idempotency-Key gets the stored reply.
 * 2. Admission checks a suspension of the organisation, its plan, the model, its Live API switch and its verdict.
 * 3. Reserve holds the call's records in the month's quota. A single is scored meanwhile, which saves a round trip.
 * 4. Dispatch sends the records to the workers and waits for their scores.
 * 5. Record writes the ledger row, the predictions and the stored reply, all or nothing. This is the commit point.
 * 6. Settle converts the reservation to usage. The readings of the fields join the sums of the day.
 */
export async function scoreRecords(call: ScoringCall, write: WriteReply, deps: ScoringDeps): Promise<Reply> {
  const { admission, idempotencyKeys, metering, dispatcher, recorder, fieldDays } = deps;
  const story = async (ended: Promise<void>): Promise<Reply> => {
    const { organisation, model, verdict } = await admission.admit(call);
    const score = () => dispatcher.score(call, model, ended);
    const early = call.lane === 'singles' ? handled(score()) : undefined;
    const reservation = await metering.reserve(call, organisation);
    return await reservation.compensateOnFailure(async () => {
      const rows = await (early ?? score());
      if (call.hasHungUp()) throw new CallerGone('the caller hung up while the call was scored');
      await write.prepare?.({ call, rows });
      const notices = noticesOf(call, model);
      const writeWith = (usage: UsageReport) =>
        write({ call, modelVersion: model.version, rows, verdict, usage, notices });
      const recorded = await recorder.record({ call, model, rows, reservation, writeWith });
      const usage = await reservation.settle(rows, model.version);
      fieldDays.add({ call, model, rows });
      return await idempotencyKeys.updateStoredReply(call, recorded, writeWith(usage));
    });
  };
  return await idempotencyKeys.once(call, () => untilEnded(story));
}

/** Runs `work` with a promise that resolves when it has ended, whatever its outcome. */
async function untilEnded<Result>(work: (ended: Promise<void>) => Promise<Result>): Promise<Result> {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return await work(ended).finally(() => end());
}

/** Marks a promise as handled. When reserving fails first, its rejection must not end the process. */
function handled<Result>(work: Promise<Result>): Promise<Result> {
  work.catch(() => undefined);
  return work;
}
