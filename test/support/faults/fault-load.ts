import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { toleranceMs } from '../../../scripts/chaos/check/watch-processors.js';
import type { HttpReply } from '../http/http-call.js';
import type { FaultService } from './fault-service.js';
import { ProcessorWatch } from './processor-watch.js';

/** What came of a call. */
export interface CallOutcome {
  /** When it was sent, in the terms of `performance.now()`. */
  readonly sentMs: number;
  readonly tookMs: number;
  /** Undefined when the connection was lost before an answer came. */
  readonly reply: HttpReply | undefined;
}

/** Makes one call and notes how long it takes. */
export async function timed(call: () => Promise<HttpReply>): Promise<CallOutcome> {
  const sentMs = performance.now();
  const reply = await call().catch(() => undefined);
  return { sentMs, tookMs: performance.now() - sentMs, reply };
}

/**
 * Makes calls at fixed times, whether those before have been answered or not, while `work` runs.
 * @returns what came of them, in the order in which they were sent, once all have ended
 */
export async function underLoad(
  call: () => Promise<HttpReply>,
  work: () => Promise<unknown>,
  { everyMs = 50 }: { readonly everyMs?: number } = {},
): Promise<CallOutcome[]> {
  const calls: Promise<CallOutcome>[] = [];
  let isOver = false;
  const sending = (async () => {
    for (let dueMs = performance.now(); !isOver; dueMs += everyMs) {
      calls.push(timed(call));
      await pause(Math.max(1, dueMs + everyMs - performance.now()));
    }
  })();
  try {
    await work();
  } finally {
    isOver = true;
    await sending;
  }
  return Promise.all(calls);
}

/** Half a second: what an answer may come after the deadline. */
const graceMs = 500;

/**
 * Asserts that each call was answered by its deadline and half a second, by what this process can tell: for as long as its
 * own event loop stood still, an answer may have lain there. The time in which the machine gave a gateway no processor
 * during a call is not held against it, within reason (`toleranceMs`).
 */
export class AnswerClock {
  private constructor(
    private readonly deadlineMs: number,
    private readonly standstillMs: number,
    private readonly processors: ProcessorWatch,
  ) {}

  /**
   * Watches this process and the gateways while `work` runs.
   * @returns the clock, for calls that were made meanwhile, and what the work gave
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
      const limit = `ms until an answer, while processes stood still for ${Math.round(stoodStillMs)} ms`;
      expect(tookMs, limit).to.be.below(limitMs + toleranceMs(stoodStillMs, limitMs));
    }
  }
}

/** How long after a fault's end calls still failed, in ms: 0 when none that was sent after it did. */
export function recoveryMs(outcomes: readonly CallOutcome[], endMs: number): number {
  const failed = outcomes.filter(({ sentMs, reply }) => sentMs > endMs && reply?.status !== 200);
  return Math.max(0, ...failed.map(({ sentMs }) => sentMs - endMs));
}

/** How many calls had each status; `lost` counts those that had none. */
export function statuses(outcomes: readonly CallOutcome[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { reply } of outcomes) {
    const status = reply === undefined ? 'lost' : String(reply.status);
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

/** Records of the calls that were answered with 200, when each call has so many. */
export const recordsAnswered = (outcomes: readonly CallOutcome[], recordsPerCall = 1): number =>
  recordsPerCall * outcomes.filter(({ reply }) => reply?.status === 200).length;
