import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect } from 'chai';
import { toleranceMs } from '../../../scripts/chaos/check/watch-processors.js';
import { openLoop } from '../../../scripts/load/loops.js';
import type { HttpReply } from '../http/http-call.js';
import type { FaultService } from './fault-service.js';
import { ProcessorWatch } from './processor-watch.js';

/** Outcome of one call. */
export interface CallOutcome {
  /** By `performance.now()`. */
  readonly sentMs: number;
  readonly tookMs: number;
  /** Undefined when the connection broke before an answer. */
  readonly reply: HttpReply | undefined;
}

/** Makes one call and measures its time. */
export async function timed(call: () => Promise<HttpReply>): Promise<CallOutcome> {
  const sentMs = performance.now();
  const reply = await call().catch(() => undefined);
  return { sentMs, tookMs: performance.now() - sentMs, reply };
}

/**
 * Makes calls at fixed times while `work` runs, without waiting for earlier answers.
 * @returns the outcomes of all calls, in the order of sending
 */
export async function underLoad(
  call: () => Promise<HttpReply>,
  work: () => Promise<unknown>,
  { everyMs = 50 }: { readonly everyMs?: number } = {},
): Promise<CallOutcome[]> {
  const calls: Promise<CallOutcome>[] = [];
  let isOver = false;
  const sending = openLoop({ gapMs: () => everyMs, isOver: () => isOver }, () => {
    const outcome = timed(call);
    calls.push(outcome);
    return outcome;
  });
  try {
    await work();
  } finally {
    isOver = true;
    await sending;
  }
  return Promise.all(calls);
}

const graceMs = 500; // an answer may arrive this long after the deadline

/**
 * Asserts that each call was answered by its deadline plus half a second. Two delays are deducted, up to `toleranceMs`:
 * blocked time of this event loop, and time of the gateway without a CPU.
 */
export class AnswerClock {
  private constructor(
    private readonly deadlineMs: number,
    private readonly standstillMs: number,
    private readonly processors: ProcessorWatch,
  ) {}

  /**
   * Watches this process and the gateways while `work` runs.
   * @returns the clock, for calls made during the work, and the result of the work
   */
  static async during<Result>(
    service: FaultService,
    deadlineMs: number,
    work: () => Promise<Result>,
  ): Promise<[clock: AnswerClock, result: Result]> {
    const delays = monitorEventLoopDelay({ resolution: 10 });
    delays.enable();
    try {
      const [processors, result] = await ProcessorWatch.during(service, 'gateways', work);
      return [new AnswerClock(deadlineMs, delays.max / 1e6, processors), result];
    } finally {
      delays.disable();
    }
  }

  expectInTime(outcomes: readonly CallOutcome[]): void {
    const limitMs = this.deadlineMs + graceMs;
    for (const { reply, sentMs, tookMs } of outcomes) {
      expect(reply, 'an answer').to.not.equal(undefined);
      const stoodStillMs = this.standstillMs + this.processors.maxWaitMs(sentMs, sentMs + tookMs);
      const limit = `ms until an answer, with processes delayed by ${Math.round(stoodStillMs)} ms`;
      expect(tookMs, limit).to.be.below(limitMs + toleranceMs(stoodStillMs, limitMs));
    }
  }
}

/** Ms from `endMs` to the send time of the last failed call; 0 without a failed call after `endMs`. */
export function recoveryMs(outcomes: readonly CallOutcome[], endMs: number): number {
  const failed = outcomes.filter(({ sentMs, reply }) => sentMs > endMs && reply?.status !== 200);
  return Math.max(0, ...failed.map(({ sentMs }) => sentMs - endMs));
}

/** Number of calls by status; `lost` counts calls without an answer. */
export function statuses(outcomes: readonly CallOutcome[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { reply } of outcomes) {
    const status = reply === undefined ? 'lost' : String(reply.status);
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

/** Number of records in calls that were answered with 200. */
export const recordsAnswered = (outcomes: readonly CallOutcome[], recordsPerCall = 1): number =>
  recordsPerCall * outcomes.filter(({ reply }) => reply?.status === 200).length;
