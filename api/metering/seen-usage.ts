import type { Usage } from '../../shared/quota/quota.js';
import { type UsageCounter, usageKey } from '../../shared/redis/keys.js';

/** Of the hard stop, what may be used or held for it to be far. */
const farShare = 0.9;
const maxRemembered = 10_000;

/** What reservations last found of counters. It may be old: for guesses, not for decisions. */
export class SeenUsage {
  private readonly seen = new Map<string, number>();

  note(counter: UsageCounter, { used, leased }: Usage): void {
    if (this.seen.size >= maxRemembered) this.seen.clear();
    this.seen.set(usageKey(counter), used + leased);
  }

  /** Whether so many more records would leave a counter far from its hard stop; false where nothing was seen of it. */
  isFarFromStop(counter: UsageCounter, records: number, hardStop: number): boolean {
    const seen = this.seen.get(usageKey(counter));
    return seen !== undefined && seen + records <= farShare * hardStop;
  }
}
