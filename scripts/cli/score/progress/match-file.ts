import type { InputRecord } from '../input/input-file.js';
import type { JournalContent } from './journal.js';
import type { FileDigest } from './row-digests.js';

/**
 * Reads the rows of earlier runs and compares them with the file.
 * @param records read up to the end of the last unchanged batch if all are unchanged, and beyond it otherwise
 * @param digest has the header; the rows are added
 * @returns number of batches at the beginning whose rows are unchanged
 */
export async function unchangedBatches(
  records: AsyncGenerator<InputRecord>,
  batches: JournalContent['batches'],
  digest: FileDigest,
): Promise<number> {
  for (const [index, batch] of batches.entries()) {
    for (let row = batches[index - 1]?.rows ?? 0; row < batch.rows; ) {
      const next = await records.next();
      if (next.done === true) return index;
      digest.add(next.value);
      row = next.value.row;
    }
    if (digest.value() !== batch.digest) return index;
  }
  return batches.length;
}

/** Skips rows that stay in the output, and adds them to the digest. */
export async function skipRows(records: AsyncGenerator<InputRecord>, rows: number, digest: FileDigest): Promise<void> {
  for (let row = 0; row < rows; ) {
    const next = await records.next();
    if (next.done === true) return;
    digest.add(next.value);
    row = next.value.row;
  }
}
