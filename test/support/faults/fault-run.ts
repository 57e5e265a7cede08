import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { toleranceMs } from '../../../scripts/chaos/check/watch-processors.js';
import { eventually } from '../eventually.js';
import { scored } from '../http/score-reply.js';
import type { TestWorkspace } from '../service/workspace.js';
import { expectExact } from './fault-checks.js';
import { printFigures } from './fault-figures.js';
import {
  AnswerClock,
  type CallOutcome,
  recordsAnswered,
  recoveryMs,
  statuses,
  timed,
  underLoad,
} from './fault-load.js';
import { type FaultService, sharedDeadlineMs, sharedLeaseMs } from './fault-service.js';
import { ProcessorWatch } from './processor-watch.js';

export interface FaultRun {
  /** What it is called in the table of docs/reliability.md. */
  readonly fault: string;
  /** Causes the fault and, unless it is over by itself, ends it. */
  readonly cause: () => Promise<unknown>;
  /** So many ms later, every call that is made is answered with 200; later while the machine gave no processor (`toleranceMs`). */
  readonly recoveredWithinMs: number;
  /** Whether this counts from when the fault began (a restart), or from when it was over (a freeze). */
  readonly from: 'beginning' | 'end';
}

const recordsPerCall = 3;
const leads = Array.from({ length: recordsPerCall }, () => ({ crm_id: 'L-1', company_size: 120 }));
/** What the fault before this one did to a gateway is over. */
const startWithinMs = 10_000;
/** When it is given up to wait for the first answer; what is promised is asserted of all calls in the end. */
const maxWaitMs = 20_000;
const beforeMs = 300;
const afterwardsMs = 3_500;
/** A lease that nobody ended, and a counter that is to be taken from the ledger again one lease later. */
const exactWithinMs = 2 * (sharedLeaseMs + 6_000);

/**
 * Makes twenty calls a second before, during and after a fault of the shared service. Asserts that each is answered by its
 * deadline; that all is normal again in time; and that what is counted in the end, by the ledger and by Redis, is what was
 * answered with 200. Tells the figures: `exact_ms` is how long after the last call Redis and the ledger agreed.
 * @returns what came of the calls
 */
export async function duringFault(
  service: FaultService,
  own: TestWorkspace,
  run: FaultRun,
): Promise<readonly CallOutcome[]> {
  const { fault, cause, recoveredWithinMs, from } = run;
  for (const gateway of service.stack.gateways.keys())
    await eventually(async () => scored(await own.score(leads, { gateway })), startWithinMs);
  const before = await expectExact(own, exactWithinMs);
  let [beganMs, endedMs] = [0, 0];
  const singles: CallOutcome[] = [];
  const single = async (): Promise<void> => {
    const outcome = await timed(() => own.score(leads.slice(0, 1)));
    singles.push(outcome);
    expect(outcome.reply?.status, outcome.reply?.text).to.equal(200);
  };
  const work = async (): Promise<void> => {
    await pause(beforeMs);
    beganMs = performance.now();
    await cause();
    endedMs = performance.now();
    await eventually(single, maxWaitMs);
    await pause(afterwardsMs);
  };
  const [clock, [processors, outcomes]] = await AnswerClock.during(service, sharedDeadlineMs, () =>
    ProcessorWatch.during(service, 'all', () => underLoad(() => own.score(leads), work)),
  );
  const answers = statuses(outcomes);
  const quietMs = performance.now();
  const answered = before + 1 + recordsAnswered(outcomes, recordsPerCall);
  await expectExact(own, exactWithinMs, answered);
  const sinceMs = from === 'end' ? endedMs : beganMs;
  const recovered = recoveryMs([...outcomes, ...singles], sinceMs);
  const withoutProcessorMs = processors.maxWaitMs(sinceMs, sinceMs + recovered);
  printFigures({
    fault,
    answers,
    slowest_ms: Math.max(...outcomes.map(({ tookMs }) => tookMs)),
    recovered_ms: recovered,
    within_ms: recoveredWithinMs,
    without_processor_ms: withoutProcessorMs,
    exact_ms: performance.now() - quietMs,
  });
  clock.expectInTime([...outcomes, ...singles]);
  expect(recovered, 'ms until all was normal again').to.be.below(
    recoveredWithinMs + toleranceMs(withoutProcessorMs, recoveredWithinMs),
  );
  return outcomes;
}
