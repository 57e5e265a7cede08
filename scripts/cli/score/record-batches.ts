import { badInput } from './input-file.js';
import type { InputRecord } from './input-record.js';

/** A record that is sent. */
export type SentRecord = InputRecord & { readonly text: string };

/** Records that go into one call. */
export interface Batch {
  readonly records: readonly SentRecord[];
  /** The last row that is done once this batch is, empty rows at its end included. */
  readonly lastRow: number;
  /** Empty rows among the batch's. */
  readonly emptyRows: number;
  /** Bytes of the inflated file up to the end of the batch. */
  readonly endByte: number;
}

export interface BatchLimits {
  readonly records: number;
  /** Of the records' JSON. */
  readonly bytes: number;
}

/** A call takes 1000 records and 8 MiB; some of these are for what stands around the records. */
export const batchLimits: BatchLimits = { records: 1000, bytes: 8 * 1024 * 1024 - 64 * 1024 };

/**
 * Groups records into calls, in order. The same records always give the same batches, so that a run which was stopped
 * sends the same calls again.
 * @throws CliError naming a record that is too large for any call
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
          `Row ${record.row} (line ${record.line}) alone is too large for a call: ${bytes} bytes`,
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
