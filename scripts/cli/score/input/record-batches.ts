import type { HeldResult, ResultPool } from '../progress/result-pool.js';
import { type FileDigest, noDigest, textDigest } from '../progress/row-digests.js';
import type { InputRecord } from './input-file.js';

/** A row that gets a line in the output. */
export interface BatchRow {
  readonly record: InputRecord;
  /** `textDigest`, or `noDigest` of a row that is not sent. */
  readonly digest: Buffer;
  /** The result that the row has already. */
  readonly held: HeldResult | undefined;
  /** Why the row is not sent. */
  readonly problem: string | undefined;
}

/** Consecutive rows of the file, of which at most one call's worth is to be sent. */
export interface Batch {
  readonly rows: readonly BatchRow[];
  /** Last row that this batch covers, including empty rows at its end. */
  readonly lastRow: number;
  /** Empty rows that this batch covers. */
  readonly emptyRows: number;
  /** Bytes of the inflated file up to the end of the batch. */
  readonly endByte: number;
  /** `FileDigest` up to the end of the batch. */
  readonly fileDigest: string;
}

export interface BatchLimits {
  readonly records: number;
  /** Bytes of the records' JSON. */
  readonly bytes: number;
}

/** The API takes 1000 records and 8 MiB per call. 64 KiB are reserved for the other members of the body. */
export const batchLimits: BatchLimits = { records: 1000, bytes: 8 * 1024 * 1024 - 64 * 1024 };

/** Rows that need no call are cheap, so that a batch may have some more of them. */
const rowsPerRecord = 4;

/**
 * Groups rows into batches in file order.
 * @param digest has the rows before; the rows of each batch are added
 * @param pool results of earlier runs
 */
export async function* recordBatches(
  records: AsyncIterable<InputRecord>,
  { digest, pool }: { readonly digest: FileDigest; readonly pool: Pick<ResultPool, 'take'> },
  limits: BatchLimits = batchLimits,
): AsyncGenerator<Batch> {
  let batch = new OpenBatch();
  for await (const record of records) {
    const row = record.text === undefined && record.problem === undefined ? undefined : rowOf(record, pool, limits);
    const bytes = row === undefined ? 0 : bytesToSend(row);
    if (row !== undefined && batch.isFull(bytes, limits)) {
      yield batch.closed(digest);
      batch = new OpenBatch();
    }
    digest.add(record);
    batch.add(record, row, bytes);
  }
  if (batch.lastRow > 0) yield batch.closed(digest);
}

function rowOf(record: InputRecord, pool: Pick<ResultPool, 'take'>, limits: BatchLimits): BatchRow {
  const { text, problem } = record;
  if (text === undefined) return { record, digest: noDigest, held: undefined, problem };
  const bytes = Buffer.byteLength(text) + 1;
  if (bytes > limits.bytes) {
    const tooLarge = `The row is too large for a call: ${bytes} bytes, maximum ${limits.bytes}`;
    return { record, digest: noDigest, held: undefined, problem: tooLarge };
  }
  const digest = textDigest(text);
  return { record, digest, held: pool.take(digest), problem };
}

/** A held row counts as well: its call may turn out not to have been counted. */
const bytesToSend = ({ record, problem }: BatchRow): number =>
  record.text === undefined || problem !== undefined ? 0 : Buffer.byteLength(record.text) + 1;

class OpenBatch {
  readonly rows: BatchRow[] = [];
  lastRow = 0;
  private records = 0;
  private bytes = 0;
  private emptyRows = 0;
  private endByte = 0;

  isFull(bytes: number, limits: BatchLimits): boolean {
    if (this.rows.length >= rowsPerRecord * limits.records) return true;
    return bytes > 0 && (this.records === limits.records || this.bytes + bytes > limits.bytes);
  }

  /** @param row undefined for an empty row */
  add(record: InputRecord, row: BatchRow | undefined, bytes: number): void {
    if (row === undefined) this.emptyRows += 1;
    else this.rows.push(row);
    if (bytes > 0) this.records += 1;
    this.bytes += bytes;
    this.lastRow = record.row;
    this.endByte = record.endByte;
  }

  closed(digest: FileDigest): Batch {
    const { rows, lastRow, emptyRows, endByte } = this;
    return { rows, lastRow, emptyRows, endByte, fileDigest: digest.value() };
  }
}

/**
 * Reads the first item immediately, so that the header of a CSV is known, and then yields all items.
 * @throws the error of reading the first item
 */
export async function withFirstRead<Item>(items: AsyncGenerator<Item>): Promise<AsyncGenerator<Item>> {
  const first = await items.next();
  return (async function* () {
    try {
      if (first.done === true) return;
      yield first.value;
      yield* items;
    } finally {
      await items.return(undefined);
    }
  })();
}
