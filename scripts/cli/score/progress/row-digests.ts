import { createHash, hash } from 'node:crypto';
import type { InputRecord } from '../input/input-file.js';
import type { JournalContent } from './journal.js';

/** Bytes of a row's digest. Among ten million rows two equal digests are as likely as 1 to 10^15. */
export const digestBytes = 12;

/** Digest of the text that is sent for a row. It recognises the row wherever an edited file has it. */
export const textDigest = (text: string): Buffer => hash('sha256', text, 'buffer').subarray(0, digestBytes);

/** Instead of the digest of a row that is not sent. */
export const noDigest = Buffer.alloc(digestBytes);

/**
 * Running digest of the beginning of a file, header included. An unchanged file is recognised by it without a check of
 * its single rows. `keepsColumns`: the output repeats the columns of the file, so also cells count that are not sent.
 */
export class FileDigest {
  private readonly hash = createHash('sha256');

  constructor(private readonly keepsColumns: boolean) {}

  /** Adds the header of the output, before the records. */
  addHeader(text: string): void {
    this.hash.update(`${text}\n`);
  }

  /** Adds a record, also an empty one. */
  add({ text = '', cells, problem }: Pick<InputRecord, 'text' | 'cells' | 'problem'>): void {
    const content = this.keepsColumns && cells !== undefined ? JSON.stringify(cells) : text;
    this.hash.update(problem === undefined ? `${content}\n` : `${content}\0${problem}\n`);
  }

  /** Digest so far; more records may be added later. */
  value(): string {
    return this.hash.copy().digest('base64url');
  }
}

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
