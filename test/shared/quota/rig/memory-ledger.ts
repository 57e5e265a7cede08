import type { Clock } from '../../../../shared/contract/dates.js';
import type { CounterSnapshot, LedgerView } from '../../../../shared/quota/ledger-view.js';
import { type UsageCounter, usageKey } from '../../../../shared/redis/keys.js';

interface Row {
  readonly counter: string;
  readonly records: number;
  readonly atMs: number;
}

/** A ledger in memory. Each read and each write is atomic, like a committed transaction. */
export class MemoryLedger implements LedgerView {
  readonly rows = new Map<string, Row>();
  readonly fenced = new Set<string>();
  /** Runs before a read of the rows. */
  beforeRead: () => Promise<void> = async () => undefined;
  /** Runs after a read of the rows, before its result is returned. */
  afterRead: () => Promise<void> = async () => undefined;
  snapshots = 0;

  constructor(private readonly clock: Clock) {}

  /** Removes all rows and fences. */
  clear(): void {
    this.rows.clear();
    this.fenced.clear();
  }

  record(counter: UsageCounter, callId: string, records: number): void {
    if (this.rows.has(callId)) throw new Error(`call ${callId} has already been recorded`);
    if (this.fenced.has(callId)) throw new Error(`call ${callId} is fenced`);
    this.rows.set(callId, { counter: usageKey(counter), records, atMs: this.clock.now() });
  }

  voidCall(callId: string): void {
    this.rows.delete(callId);
  }

  sum(counter: UsageCounter): number {
    let records = 0;
    for (const row of this.rows.values()) if (row.counter === usageKey(counter)) records += row.records;
    return records;
  }

  async snapshot(
    counter: UsageCounter,
    { recentMs, nowMs }: { readonly recentMs: number; readonly nowMs: number },
  ): Promise<CounterSnapshot> {
    this.snapshots += 1;
    await this.beforeRead();
    const recent = [...this.rows]
      .filter(([, row]) => row.counter === usageKey(counter) && row.atMs >= nowMs - recentMs)
      .map(([callId, { records }]) => ({ callId, records }));
    const records = this.sum(counter);
    await this.afterRead();
    return { records, recent };
  }

  async recordedCalls(callIds: readonly string[]): Promise<Set<string>> {
    await this.beforeRead();
    const recorded = new Set(callIds.filter((callId) => this.rows.has(callId)));
    await this.afterRead();
    return recorded;
  }

  async fenceCalls(callIds: readonly string[]): Promise<Set<string>> {
    for (const callId of callIds) if (!this.rows.has(callId)) this.fenced.add(callId);
    return this.recordedCalls(callIds);
  }
}
