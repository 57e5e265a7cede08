import type { UsageCounter } from '../redis/keys.js';

/** One recorded call. */
export interface RecordedCall {
  readonly callId: string;
  readonly records: number;
}

/** The sum of one counter in the ledger, and the recent calls in it. */
export interface CounterSnapshot {
  readonly records: number;
  readonly recent: readonly RecordedCall[];
}

/**
 * The quota's view of the ledger, the source of truth of metering. Rebuilds and the sweep read it. Reads must see every
 * row whose commit was acknowledged before they began (`majority`). They must fail, not hang, when the ledger cannot be
 * read.
 */
export interface LedgerView {
  /**
   * The sum of a counter's rows, and those of the rows recorded in the last `recentMs` before `nowMs`. The service's
   * clock gives `nowMs` and dates the rows. One read: no row may be in one part and missing from the other.
   */
  snapshot(
    counter: UsageCounter,
    window: { readonly recentMs: number; readonly nowMs: number },
  ): Promise<CounterSnapshot>;

  /** The calls that have a row that is not void. */
  recordedCalls(callIds: readonly string[]): Promise<ReadonlySet<string>>;

  /**
   * Fences calls without a row: a commit that is still under way fails from now on. Does not wait for a transaction
   * that is open now, such as that of a dead gateway.
   * @returns the calls that have a row
   */
  fenceCalls(callIds: readonly string[]): Promise<ReadonlySet<string>>;
}
