import { type Reading, wasAmbiguous, wasMissing, wasRead, wasUnreadable, wasUnseen } from './cell-reading.js';

const filledBit = 32;
const bitOf = (reading: Reading): number => 1 << reading;
/**
 * The readings in the order in which they stand for a slot that several features read: one that could read it is
 * enough.
 */
const best: readonly Reading[] = [wasAmbiguous, wasRead, wasUnseen, wasUnreadable, wasMissing];
/** The reading that stands for each byte of a slot. A slot without one was read. */
const readingOfByte: readonly Reading[] = Array.from(
  { length: 2 * filledBit },
  (_, byte) => best.find((reading) => (byte & bitOf(reading)) !== 0) ?? wasRead,
);

/** How the fields of a part's records were read: a byte for each record and slot. */
export class SlotReadings {
  private readonly bytes: Uint8Array;

  /** @param slotCount slots that features read */
  constructor(
    rows: number,
    readonly slotCount: number,
  ) {
    this.bytes = new Uint8Array(rows * slotCount);
  }

  /** Stores the reading of a feature. `wasRead` needs to be stored only for a slot that several features read. */
  set(row: number, slot: number, reading: Reading): void {
    const at = row * this.slotCount + slot;
    this.bytes[at] = (this.bytes[at] ?? 0) | bitOf(reading);
  }

  /**
   * Stores that the value of a slot is that of an earlier prediction. The slot of the recency guard alone is passed
   * over.
   */
  setFilled(row: number, slot: number): void {
    if (slot < this.slotCount) this.bytes[row * this.slotCount + slot] = filledBit;
  }

  /** Forgets a row whose record is refused. */
  clear(row: number): void {
    this.bytes.fill(0, row * this.slotCount, (row + 1) * this.slotCount);
  }

  /** Moves the readings of a row to the index of a refused one. */
  move(from: number, to: number): void {
    this.bytes.copyWithin(to * this.slotCount, from * this.slotCount, (from + 1) * this.slotCount);
  }

  /** The first slot of a row, from one on, that was not simply read; `slotCount` without one. Most were. */
  nextSet(row: number, from: number): number {
    const start = row * this.slotCount;
    let slot = from;
    while (slot < this.slotCount && this.bytes[start + slot] === 0) slot += 1;
    return slot;
  }

  of(row: number, slot: number): Reading {
    return readingOfByte[this.byteOf(row, slot)] ?? wasRead;
  }

  isFilled(row: number, slot: number): boolean {
    return (this.byteOf(row, slot) & filledBit) !== 0;
  }

  private byteOf(row: number, slot: number): number {
    return this.bytes[row * this.slotCount + slot] ?? 0;
  }
}
