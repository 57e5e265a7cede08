import { randomInt } from 'node:crypto';
import { storedCrmId } from '../contract/crm-id.js';
import { countText } from '../contract/figures.js';
import { invisibleCharacters, shortenedText } from '../contract/texts.js';

/** A repeated id: rows with an id that an earlier row has, and one of them. */
export interface Repeats {
  readonly rows: number;
  readonly example: { readonly id: string; readonly line: number };
  /** False when some ids were no longer remembered: then there may be more. */
  readonly areAll: boolean;
}

const firstSlots = 1 << 12;
const [prime, otherPrime] = [0x01000193, 0x85ebca6b];

/**
 * Counts repeated ids in bounded memory: a hash of 64 bits for each of up to some millions of ids. Among five million
 * ids, two different ones share a hash with a probability below one in a million.
 */
export class RepeatedIds {
  private slots = firstSlots;
  private low = new Uint32Array(firstSlots);
  private high = new Uint32Array(firstSlots);
  private ids = 0;
  private rows = 0;
  private example: Repeats['example'] | undefined;
  private isFull = false;
  private edged = { rows: 0, line: 0 };
  /**
   * Random: a file could be written whose ids all fall into the same slots of known hashes, and each search would be
   * long.
   */
  private readonly seeds = [randomInt(2 ** 32), randomInt(2 ** 32)] as const;

  /** @param maxSlots a power of two. Each has 8 bytes, and two of three hold an id */
  constructor(private readonly maxSlots = 1 << 23) {}

  /** The repeated ids so far; undefined without one. */
  get repeats(): Repeats | undefined {
    const { rows, example } = this;
    return example === undefined ? undefined : { rows, example, areAll: !this.isFull };
  }

  /** The sentence about ids with white space at an end; undefined without one. */
  get edgesNotice(): string | undefined {
    const { rows, line } = this.edged;
    if (rows === 0) return undefined;
    const ids = rows === 1 ? '1 id begins or ends' : `${countText(rows)} ids begin or end`;
    return `${ids} with white space or an invisible character, first in line ${line}. Without it, each is the id of another lead`;
  }

  /** @returns whether an earlier row has the id, also in its other form: see `storedCrmId` */
  add(id: string, line: number): boolean {
    if (hasEdge(id)) {
      if (this.edged.rows === 0) this.edged.line = line;
      this.edged.rows += 1;
    }
    const isRepeated = this.addStored(storedCrmId(id));
    if (!isRepeated) return false;
    this.rows += 1;
    this.example ??= { id, line };
    return true;
  }

  private addStored(id: string): boolean {
    let [low, high] = this.seeds;
    for (let at = 0; at < id.length; at += 1) {
      const code = id.charCodeAt(at);
      low = Math.imul(low ^ code, prime);
      high = Math.imul(high ^ code, otherPrime);
      high ^= high >>> 13;
    }
    // Zero marks a free slot.
    return this.has(low >>> 0 || 1, high >>> 0);
  }

  /** Whether a hash was added before. Adds it unless there is no room. */
  private has(low: number, high: number): boolean {
    const slot = this.slotOf(low, high);
    if (this.low[slot] !== 0) return true;
    if (3 * this.ids >= 2 * this.slots) {
      if (this.slots >= this.maxSlots) {
        this.isFull = true;
        return false;
      }
      this.grow();
      return this.has(low, high);
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

const edges = new RegExp(`^[\\s${invisibleCharacters}]|[\\s${invisibleCharacters}]$`);

function hasEdge(id: string): boolean {
  const [first, last] = [id.charCodeAt(0), id.charCodeAt(id.length - 1)];
  // Nearly all ids begin and end with a letter or a digit.
  return (first <= 0x20 || first >= 0x7f || last <= 0x20 || last >= 0x7f) && edges.test(id);
}

const maxShown = 40; // characters

/**
 * The sentence about repeated ids; undefined without one.
 * @param quotesId false in a text that is stored: it must not outlive the erasure of the lead
 */
export function repeatsText(repeats: Repeats | undefined, { quotesId = true } = {}): string | undefined {
  if (repeats === undefined) return undefined;
  const { rows, example, areAll } = repeats;
  const shown = JSON.stringify(shortenedText(example.id, maxShown));
  const count = `${areAll ? '' : 'At least '}${countText(rows)} ${rows === 1 ? 'row has' : 'rows have'}`;
  const where = quotesId ? `such as ${shown} in` : 'first in';
  return `${count} a crm_id that an earlier row has, ${where} line ${example.line}`;
}
