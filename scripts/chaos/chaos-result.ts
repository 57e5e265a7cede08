import type { CallEvent, FaultEvent, HistoryEvent } from './history.js';

/** One kind of fault in a run. */
export interface FaultSummary {
  readonly fault: string;
  readonly times: number;
  /** Calls that were sent from its beginning to the beginning of the next fault. */
  readonly calls: number;
  /** Of these, how many were not answered with 200, 4xx or a hang-up of the caller's own. */
  readonly failed: number;
  /** The longest time after its end after which a call was sent that failed, before the next fault began; ms. */
  readonly recovered_ms: number;
}

/** What a run came to. */
export interface ChaosResult {
  readonly seed: number;
  readonly minutes: number;
  readonly history: string;
  readonly calls: number;
  /** Calls by what came of them: a status, `lost`, `refused` or `hung-up`. */
  readonly answers: Readonly<Record<string, number>>;
  readonly replays: number;
  readonly slowest_ms: number;
  /** Rows of the ledger, and records in them. */
  readonly counted_calls: number;
  readonly counted_records: number;
  /** How long after the last call Redis and the ledger agreed. */
  readonly exact_ms: number;
  /** Usage and hard stop of each counter. */
  readonly counters: readonly { readonly used: number; readonly hard_stop: number }[];
  readonly faults: readonly FaultSummary[];
  /** What does not hold; empty when all does. */
  readonly problems: readonly string[];
}

/** Adds up the history of a run. */
export function summarize(
  events: readonly HistoryEvent[],
  run: {
    readonly seed: number;
    readonly minutes: number;
    readonly historyFile: string;
    readonly exactMs: number;
    readonly problems: readonly string[];
  },
): ChaosResult {
  const calls = events.filter((event) => event.kind === 'call');
  const ledger = events.filter((event) => event.kind === 'ledger');
  const counters = events.filter((event) => event.kind === 'counter');
  const answers: Record<string, number> = {};
  for (const { outcome } of calls) answers[outcome] = (answers[outcome] ?? 0) + 1;
  return {
    seed: run.seed,
    minutes: run.minutes,
    history: run.historyFile,
    calls: calls.length,
    answers,
    replays: calls.filter(({ isReplay }) => isReplay).length,
    slowest_ms: Math.round(calls.reduce((slowest, { tookMs }) => Math.max(slowest, tookMs), 0)),
    counted_calls: ledger.length,
    counted_records: ledger.reduce((sum, { records }) => sum + records, 0),
    exact_ms: Math.round(run.exactMs),
    counters: counters.map(({ used, hardStop }) => ({ used, hard_stop: hardStop })),
    faults: faultSummaries(
      calls,
      events.filter((event) => event.kind === 'fault'),
    ),
    problems: run.problems,
  };
}

/** Faults that differ in a gateway or a time only are of one kind. */
const kindOf = ({ name }: FaultEvent): string =>
  name.replace(/gateway \d+/, 'a gateway').replace(/,? (for|back after|back by) [\d.]+ s$/, '');

function faultSummaries(calls: readonly CallEvent[], faults: readonly FaultEvent[]): FaultSummary[] {
  const inOrder = [...faults].sort((one, other) => one.beganMs - other.beganMs);
  const kinds = new Map<string, FaultSummary>();
  for (const fault of inOrder) {
    const next = inOrder.find(({ beganMs }) => beganMs > fault.endedMs);
    const untilMs = next?.beganMs ?? Number.POSITIVE_INFINITY;
    const during = calls.filter(({ sentMs }) => sentMs >= fault.beganMs && sentMs < untilMs);
    const failed = during.filter(hasFailed);
    const afterMs = Math.max(0, ...failed.map(({ sentMs }) => sentMs - fault.endedMs));
    const before = kinds.get(kindOf(fault));
    kinds.set(kindOf(fault), {
      fault: kindOf(fault),
      times: (before?.times ?? 0) + 1,
      calls: (before?.calls ?? 0) + during.length,
      failed: (before?.failed ?? 0) + failed.length,
      recovered_ms: Math.round(Math.max(before?.recovered_ms ?? 0, afterMs)),
    });
  }
  return [...kinds.values()].sort((one, other) => one.fault.localeCompare(other.fault));
}

const hasFailed = ({ outcome }: CallEvent): boolean =>
  outcome === 'lost' || outcome === 'refused' || (typeof outcome === 'number' && outcome >= 500);
