import type { RowOutcome } from '../calls/api-reply.js';
import type { GrowingFile } from './disk.js';
import { FileParts } from './journal-lines.js';
import { digestBytes } from './row-digests.js';

/** A kept result of a row. */
export interface HeldResult {
  /** Its number: see `Resumed`. */
  readonly number: number;
  /** Undefined when the service has not counted the row after all: it must be sent. */
  outcome(): Promise<RowOutcome | undefined>;
}

/** A call of an earlier run, without a reply so far. */
export interface OpenCall {
  /** Number of rows. */
  readonly size: number;
  /** `textDigest` of its rows, joined. */
  readonly rows: Buffer;
  /** The outcomes of its rows; undefined when the service has not counted them. */
  outcomes(): Promise<readonly RowOutcome[] | undefined>;
}

/** A line of the pool's file. */
export interface PoolLine {
  /** `textDigest` of the row, as base64. */
  readonly of: string;
  readonly outcome: RowOutcome;
}

const bufferedCharacters = 1024 * 1024;

/** Writes the file of a pool. */
export class PoolWriter {
  private digests = Buffer.alloc(64 * digestBytes);
  private offsets = new Float64Array(64);
  private size = 0;
  private scored = 0;
  private bytes = 0;
  private buffered = '';

  constructor(private readonly file: GrowingFile) {}

  async add(digest: Uint8Array, outcome: RowOutcome): Promise<void> {
    const line: PoolLine = { of: Buffer.from(digest).toString('base64'), outcome };
    const text = `${JSON.stringify(line)}\n`;
    if (this.size === this.offsets.length) this.grow();
    this.digests.set(digest, this.size * digestBytes);
    this.offsets[this.size] = this.bytes;
    this.size += 1;
    if ('scored' in outcome) this.scored += 1;
    this.bytes += Buffer.byteLength(text);
    this.buffered += text;
    if (this.buffered.length >= bufferedCharacters) await this.flush();
  }

  async end(): Promise<PoolContent> {
    await this.flush();
    await this.file.sync();
    await this.file.close();
    return {
      digests: this.digests.subarray(0, this.size * digestBytes),
      offsets: this.offsets.subarray(0, this.size),
      scored: this.scored,
    };
  }

  private async flush(): Promise<void> {
    await this.file.write(this.buffered);
    this.buffered = '';
  }

  private grow(): void {
    const digests = Buffer.alloc(2 * this.digests.length);
    digests.set(this.digests);
    this.digests = digests;
    const offsets = new Float64Array(2 * this.offsets.length);
    offsets.set(this.offsets);
    this.offsets = offsets;
  }
}

/** Digests and offsets of the lines of a pool's file. */
export interface PoolContent {
  readonly digests: Buffer;
  readonly offsets: Float64Array;
  /** Lines with a score. The service has counted these rows. */
  readonly scored: number;
}

export const emptyPool: PoolContent = { digests: Buffer.alloc(0), offsets: new Float64Array(0), scored: 0 };

const free = -1;

/**
 * The results of earlier runs that are not in the output, by the digest of their row. Each is given out once: two equal
 * rows are two rows. Takes 28 to 36 bytes of memory a result; the results stay in the file.
 */
export class ResultPool {
  readonly size: number;
  private readonly digests: Buffer;
  /** For each index of a hash table the first result; of several with one digest the lowest number. */
  private readonly table: Int32Array;
  /** For each result the next one with the same digest. */
  private readonly next: Int32Array;
  private readonly file: FileParts;
  private readonly filed: number;

  constructor(
    path: string,
    private readonly content: PoolContent,
    private readonly calls: readonly OpenCall[],
  ) {
    this.file = new FileParts(path);
    this.filed = content.offsets.length;
    this.digests =
      calls.length === 0 ? content.digests : Buffer.concat([content.digests, ...calls.map(({ rows }) => rows)]);
    this.size = this.digests.length / digestBytes;
    let length = 2;
    while (length < 1.5 * this.size) length *= 2;
    this.table = new Int32Array(length).fill(free);
    this.next = new Int32Array(this.size).fill(free);
    for (let number = this.size - 1; number >= 0; number -= 1) {
      const index = this.indexOf(this.digests, number * digestBytes);
      this.next[number] = this.table[index] ?? free;
      this.table[index] = number;
    }
  }

  /** Whether there is, or was, a result of a row. */
  has(digest: Buffer): boolean {
    return this.size > 0 && this.table[this.indexOf(digest, 0)] !== free;
  }

  /** Takes the next result of a row out of the pool. */
  take(digest: Buffer): HeldResult | undefined {
    if (this.size === 0) return undefined;
    const index = this.indexOf(digest, 0);
    const number = this.table[index] ?? free;
    if (number < 0) return undefined;
    const next = this.next[number] ?? free;
    // An emptied entry still belongs to its digest, or the search for another digest would end at it.
    this.table[index] = next === free ? -2 - number : next;
    return { number, outcome: () => this.outcomeOf(number) };
  }

  /** The index of a digest, or the free index where it belongs. */
  private indexOf(digests: Buffer, at: number): number {
    const mask = this.table.length - 1;
    for (let index = digests.readUInt32LE(at) & mask; ; index = (index + 1) & mask) {
      const entry = this.table[index] ?? free;
      if (entry === free) return index;
      const number = entry < free ? -2 - entry : entry;
      const of = number * digestBytes;
      if (digests.compare(this.digests, of, of + digestBytes, at, at + digestBytes) === 0) return index;
    }
  }

  private async outcomeOf(number: number): Promise<RowOutcome | undefined> {
    if (number < this.filed) {
      const line: PoolLine = JSON.parse(await this.file.line(this.content.offsets[number] ?? 0));
      return line.outcome;
    }
    let index = number - this.filed;
    for (const call of this.calls) {
      if (index < call.size) return (await call.outcomes())?.[index];
      index -= call.size;
    }
    return undefined;
  }
}
