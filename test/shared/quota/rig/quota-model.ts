/**
 * The quota as plain arithmetic, one command at a time. The Lua scripts, the rebuild and the sweep together must agree
 * with it. Time is counted in leases.
 */
export const modelStop = 1_000;

/** One call: its state in Redis, its row in the ledger, and whether its gateway still runs it. */
interface ModelCall {
  records: number;
  state: 'none' | 'held' | 'settled' | 'released';
  /** Leases since `state` began. */
  age: number;
  /** Leases since it was recorded; undefined while it is not in the ledger. */
  recordedAge: number | undefined;
  alive: boolean;
  /** Leases since it was reserved. */
  reservedAge: number;
  /** Whether its records, recorded or not yet, were held or counted at the last change: the stop then includes them. */
  covered: boolean;
  /** Whether the sweep has found no row of it. It can then never be recorded. */
  fenced: boolean;
}

export class QuotaModel {
  known = false;
  used = 0;
  /** Leases until the counter is recounted. */
  recountIn: number | undefined;
  /** Whether a call was counted that was not covered: its gateway was slower than its lease, or died. */
  excess = false;
  private readonly calls = new Map<string, ModelCall>();

  call(callId: string): ModelCall {
    let call = this.calls.get(callId);
    if (!call) {
      call = {
        records: 0,
        state: 'none',
        age: 0,
        recordedAge: undefined,
        alive: false,
        reservedAge: 0,
        covered: false,
        fenced: false,
      };
      this.calls.set(callId, call);
    }
    return call;
  }

  get leased(): number {
    return this.sumOf((call) => call.state === 'held');
  }

  get ledgerSum(): number {
    return this.sumOf((call) => call.recordedAge !== undefined);
  }

  reserve(callId: string, records: number): 'held' | 'would cross the stop' | 'ended' {
    this.restore();
    const call = this.call(callId);
    if (call.state === 'held') return 'held';
    if (call.state !== 'none') return 'ended';
    if (this.used + this.leased + records > modelStop) return 'would cross the stop';
    Object.assign(call, { records, state: 'held', age: 0, alive: true, reservedAge: 0, covered: true });
    return 'held';
  }

  /**
   * Whether a gateway may record the call now. It may within a lease, of which its deadline is a third. It may later
   * while a recount is due: the gateway may then die before it settles.
   */
  mayRecord(callId: string): boolean {
    const { alive, recordedAge, reservedAge, fenced } = this.call(callId);
    if (fenced) return false;
    return alive && recordedAge === undefined && (reservedAge < 1 || (this.recountIn ?? 0) > 0);
  }

  settle(callId: string): 'settled' | 'lost' {
    this.restore();
    const call = this.call(callId);
    if (call.state === 'settled') return 'settled';
    if (call.state === 'held') {
      this.used += call.records;
      Object.assign(call, { state: 'settled', age: 0 });
      return 'settled';
    }
    this.recountIn = 1;
    return 'lost';
  }

  release(callId: string): void {
    const call = this.call(callId);
    if (call.state === 'settled' && this.known) this.recountIn = 1;
    if (call.state === 'settled' || call.state === 'released') return;
    Object.assign(call, { state: 'released', age: 0, covered: false });
  }

  leasePasses(): void {
    if (this.recountIn !== undefined) this.recountIn -= 1;
    for (const call of this.calls.values()) {
      call.age += 1;
      call.reservedAge += 1;
      if (call.recordedAge !== undefined) call.recordedAge += 1;
      if ((call.state === 'settled' || call.state === 'released') && call.age >= 2) call.state = 'none';
    }
  }

  sweep(): void {
    if (!this.known) return;
    for (const [callId, call] of this.calls) {
      if (call.state !== 'held' || call.age < 1) continue;
      if (call.recordedAge !== undefined) this.settle(callId);
      else {
        this.release(callId);
        call.fenced = true;
        this.recountIn = 1;
      }
    }
    if (this.recountIn === undefined || this.recountIn > 0) return;
    this.used = this.ledgerSum - this.sumOf((call) => call.state === 'held' && call.recordedAge !== undefined);
    this.recountIn = undefined;
    this.noteExcess();
  }

  /** As `settleDown` of the rig. A recount at the end may count calls whose gateway died before it settled them. */
  settleDown(): void {
    this.restore();
    for (let round = 0; round < 3; round += 1) {
      this.leasePasses();
      this.sweep();
    }
  }

  empty(): void {
    this.known = false;
    this.used = 0;
    this.recountIn = undefined;
    for (const call of this.calls.values()) call.state = 'none';
  }

  restore(): void {
    if (this.known) return;
    this.known = true;
    this.used = this.ledgerSum;
    this.recountIn = 1;
    for (const call of this.calls.values()) {
      if (call.recordedAge === undefined) call.covered = false;
      else if (call.recordedAge <= 2) Object.assign(call, { state: 'settled', age: 0 });
    }
    this.noteExcess();
  }

  private noteExcess(): void {
    for (const call of this.calls.values()) if (call.recordedAge !== undefined && !call.covered) this.excess = true;
  }

  private sumOf(which: (call: ModelCall) => boolean): number {
    let records = 0;
    for (const call of this.calls.values()) if (which(call)) records += call.records;
    return records;
  }
}
