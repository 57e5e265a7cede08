import { createHash } from 'node:crypto';
import { CliError } from '../../context/cli-error.js';
import { badInput, type InputRecord } from './input-file.js';

/** A record with content. */
export type SentRecord = InputRecord & { readonly text: string };

/** Records of one call. */
export interface Batch {
  readonly records: readonly SentRecord[];
  /** Last row that this batch covers, including empty rows at its end. */
  readonly lastRow: number;
  /** Empty rows that this batch covers. */
  readonly emptyRows: number;
  /** Bytes of the inflated file up to the end of the batch. */
  readonly endByte: number;
}

export interface BatchLimits {
  readonly records: number;
  /** Bytes of the records' JSON. */
  readonly bytes: number;
}

/** The API takes 1000 records and 8 MiB per call. 64 KiB are reserved for the other members of the body. */
export const batchLimits: BatchLimits = { records: 1000, bytes: 8 * 1024 * 1024 - 64 * 1024 };

/**
 * Groups records into calls in file order. Batching is deterministic, so a resumed run repeats the same calls with the
 * same idempotency keys.
 * @throws CliError when a record alone exceeds the limit
 */
export async function* recordBatches(
  records: AsyncIterable<InputRecord>,
  limits: BatchLimits = batchLimits,
): AsyncGenerator<Batch> {
  let batch = emptyBatch();
  for await (const record of records) {
    if (record.text === undefined) {
      batch.emptyRows += 1;
    } else {
      const bytes = Buffer.byteLength(record.text) + 1;
      if (bytes > limits.bytes)
        throw badInput(
          `Row ${record.row} (line ${record.line}) is too large for a call: ${bytes} bytes, maximum ${limits.bytes}`,
        );
      const isFull = batch.records.length === limits.records || batch.bytes + bytes > limits.bytes;
      if (isFull) {
        yield batch;
        batch = emptyBatch();
      }
      batch.records.push({ ...record, text: record.text });
      batch.bytes += bytes;
    }
    batch.lastRow = record.row;
    batch.endByte = record.endByte;
  }
  if (batch.lastRow > 0) yield batch;
}

const emptyBatch = () => ({ records: [] as SentRecord[], bytes: 0, lastRow: 0, emptyRows: 0, endByte: 0 });

/**
 * Running digest of all records so far. A resumed run compares it to detect a changed file.
 * `keepsColumns`: the output repeats the columns of the file, so also cells count that are not sent.
 */
export class RecordDigest {
  private readonly hash = createHash('sha256');

  constructor(private readonly keepsColumns: boolean) {}

  /** Adds the header of a CSV, before its records. */
  addHeader(names: readonly string[]): void {
    if (this.keepsColumns) this.hash.update(`${JSON.stringify(names)}\n`);
  }

  /** Adds a record, or undefined for an empty row. */
  add(record: Pick<InputRecord, 'text' | 'cells'> | undefined): void {
    const { text = '', cells } = record ?? {};
    this.hash.update(`${this.keepsColumns && cells !== undefined ? JSON.stringify(cells) : text}\n`);
  }

  /** Digest so far; more records may be added later. */
  value(): string {
    return this.hash.copy().digest('base64url');
  }
}

/**
 * Skips the rows that an earlier run has scored, adds them to the digest and yields the others.
 * @throws CliError when the skipped rows have changed
 */
export async function* recordsAfter(
  records: AsyncIterable<InputRecord>,
  done: { readonly rows: number; readonly digest: string },
  digest: RecordDigest,
): AsyncGenerator<InputRecord> {
  let row = 0;
  for await (const record of records) {
    row = record.row;
    if (row > done.rows) {
      yield record;
      continue;
    }
    digest.add(record);
    if (row === done.rows && digest.value() !== done.digest) throw changed(done.rows);
  }
  if (row < done.rows) throw changed(done.rows);
}

const changed = (rows: number): CliError =>
  new CliError(
    `The header or the first ${rows} rows of the file have changed since they were scored. Use --restart to score the whole file again`,
    { code: 'input_changed' },
  );

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
