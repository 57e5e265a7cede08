import { randomInt } from 'node:crypto';

const firstSlots = 1 << 12;
const [prime, otherPrime] = [0x01000193, 0x85ebca6b];

/**
 * A set of ids in bounded memory: a hash of 64 bits for each of up to some millions of ids. Among five million ids, two
 * different ones share a hash with a probability below one in a million.
 */
export class IdSet {
  private slots = firstSlots;
  private low = new Uint32Array(firstSlots);
  private high = new Uint32Array(firstSlots);
  private ids = 0;
  private full = false;
  /**
   * Random: a file could be written whose ids all fall into the same slots of known hashes, and each search would be
   * long.
   */
  private readonly seeds = [randomInt(2 ** 32), randomInt(2 ** 32)] as const;

  /** @param maxSlots a power of two. Each has 8 bytes, and two of three hold an id */
  constructor(private readonly maxSlots = 1 << 23) {}

  /** Whether an id was not added, because there was no room. */
  get isFull(): boolean {
    return this.full;
  }

  /** Whether an id was added before. Adds it unless there is no room. */
  has(id: string): boolean {
    let [low, high] = this.seeds;
    for (let at = 0; at < id.length; at += 1) {
      const code = id.charCodeAt(at);
      low = Math.imul(low ^ code, prime);
      high = Math.imul(high ^ code, otherPrime);
      high ^= high >>> 13;
    }
    // Zero marks a free slot.
    return this.hasHash(low >>> 0 || 1, high >>> 0);
  }

  private hasHash(low: number, high: number): boolean {
    const slot = this.slotOf(low, high);
    if (this.low[slot] !== 0) return true;
    if (3 * this.ids >= 2 * this.slots) {
      if (this.slots >= this.maxSlots) {
        this.full = true;
        return false;
      }
      this.grow();
      return this.hasHash(low, high);
    }
    this.low[slot] = low;
    this.high[slot] = high;
    this.ids += 1;
    return false;
  }

  /** The slot of a hash, or a free one for it. */
  private slotOf(low: number, high: number): number {
    const mask = this.slots - 1;
    let slot = (low ^ (high >>> 7)) & mask;
    while (this.low[slot] !== 0 && (this.low[slot] !== low || this.high[slot] !== high)) slot = (slot + 1) & mask;
    return slot;
  }

  private grow(): void {
    const { low, high } = this;
    this.slots *= 2;
    this.low = new Uint32Array(this.slots);
    this.high = new Uint32Array(this.slots);
    for (const [index, each] of low.entries()) {
      if (each === 0) continue;
      const slot = this.slotOf(each, high[index] as number);
      this.low[slot] = each;
      this.high[slot] = high[index] as number;
    }
  }
}
