import type { FaultEvent, HistoryEvent } from './history.js';

/** One kind of fault in a run. */
export interface FaultSummary {
  readonly fault: string;
  readonly times: number;
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
  /** Answers that came late or not at all on a machine that was too busy for it to be said whose fault that was. */
  readonly not_judged: readonly string[];
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
    readonly notJudged: readonly string[];
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
    faults: faultSummaries(events.filter((event) => event.kind === 'fault')),
    problems: run.problems,
    not_judged: run.notJudged,
  };
}

/** Faults that differ in a gateway or a time only are of one kind. */
const kindOf = ({ name }: FaultEvent): string =>
  name.replace(/gateway \d+/, 'a gateway').replace(/,? (for|back after|back by) [\d.]+ s$/, '');

/** How often each kind was caused. What came of one alone is not told: their times overlap, and tests say it better. */
function faultSummaries(faults: readonly FaultEvent[]): FaultSummary[] {
  const times = new Map<string, number>();
  for (const fault of faults) times.set(kindOf(fault), (times.get(kindOf(fault)) ?? 0) + 1);
  return [...times]
    .map(([fault, count]) => ({ fault, times: count }))
    .sort((one, other) => one.fault.localeCompare(other.fault));
}
