import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { toleranceMs } from '../../../scripts/chaos/check/watch-processors.js';
import { eventually } from '../eventually.js';
import { scored } from '../http/score-reply.js';
import { startTimeoutMs } from '../service/service.js';
import { type TestWorkspace, workspace } from '../service/workspace.js';
import { expectExact, expectNoOtherDeath } from './fault-checks.js';
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
import { type FaultService, sharedDeadlineMs, sharedFaultService, sharedLeaseMs } from './fault-service.js';
import { ProcessorWatch } from './processor-watch.js';

export interface FaultRun {
  /** Name of the fault in the measurements. */
  readonly fault: string;
  /** Causes the fault and ends it, unless it ends by itself. */
  readonly cause: () => Promise<unknown>;
  /** Ms after which all calls are answered with 200; time without a CPU is deducted (`toleranceMs`). */
  readonly recoveredWithinMs: number;
  /**
   * Start of that time: the beginning of the fault, or its end (a freeze; the start of a server takes the machine's
   * time).
   */
  readonly from: 'beginning' | 'end';
}

/**
 * Hooks of a suite on the shared fault service. Each test begins with its own workspace, after the service has scored a
 * lead. It must not end a process that it does not kill.
 * @param lead record of that first call
 * @param set gets the service and the workspace of the next test
 */
export function onSharedFaultService(
  lead: Readonly<Record<string, unknown>>,
  set: (service: FaultService, own: TestWorkspace) => void,
): void {
  let service: FaultService;
  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedFaultService();
  });
  beforeEach(async () => {
    const own = await workspace(service);
    set(service, own);
    await eventually(async () => scored(await own.score([lead])), startWithinMs);
  });
  afterEach(() => expectNoOtherDeath(service));
}

const recordsPerCall = 3;
const leads = Array.from({ length: recordsPerCall }, () => ({ crm_id: 'L-1', company_size: 120 }));
const startWithinMs = 10_000; // gateways have recovered from the previous fault
const maxWaitMs = 20_000; // for the first answer; the promised limit is asserted at the end
const beforeMs = 300;
const afterwardsMs = 1_500; // calls must go on to succeed
/** An abandoned lease, and a recount one lease later. */
const exactWithinMs = 2 * (sharedLeaseMs + 6_000);

/**
 * Makes twenty calls a second before, during and after a fault of the shared service. Asserts three promises:
 *
 * 1. Each call is answered by its deadline.
 * 2. All calls succeed again in time.
 * 3. Redis and the ledger count exactly the calls that were answered with 200.
 *
 * Prints measurements; `exact_ms` is the time from the last call until Redis and the ledger agreed.
 * @returns the outcomes of the calls
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
  expect(recovered, 'ms until all calls succeeded again').to.be.below(
    recoveredWithinMs + toleranceMs(withoutProcessorMs, recoveredWithinMs),
  );
  return outcomes;
}
