import type { UsageCounter } from '../redis/keys.js';

/** One recorded call. */
export interface RecordedCall {
  readonly callId: string;
  readonly records: number;
}

/** What one counter adds up to in the ledger, and the calls of late that it was added up from. */
export interface CounterSnapshot {
  readonly records: number;
  readonly recent: readonly RecordedCall[];
}

/**
 * What the quota reads from the ledger, the truth of metering, to rebuild a counter and to end leases that nobody ended.
 * Both reads must see every row whose commit was acknowledged before they began (`majority`), and must fail, not hang,
 * when the ledger cannot be read.
 */
export interface LedgerView {
  /**
   * The sum of a counter's rows and, of the same rows, those recorded in the last `recentMs` before `nowMs` (the
   * service's clock, which also dates the rows). One read: no row may be in one part and missing from the other.
   */
  snapshot(
    counter: UsageCounter,
    window: { readonly recentMs: number; readonly nowMs: number },
  ): Promise<CounterSnapshot>;

  /** Which of these calls have a row that is not void. */
  recordedCalls(callIds: readonly string[]): Promise<ReadonlySet<string>>;

  /**
   * Keeps calls that have no row from ever getting one: a commit that is still under way fails from now on. Only a
   * transaction that is open at this moment, as that of a gateway that died, is not waited for.
   * @returns those that have a row all the same
   */
  fenceCalls(callIds: readonly string[]): Promise<ReadonlySet<string>>;
}
