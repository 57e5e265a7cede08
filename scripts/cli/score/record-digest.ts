import { createHash } from 'node:crypto';
import { CliError } from '../cli-error.js';
import type { InputRecord } from './input-record.js';

/** A digest of all records so far, which can be read at any point: tells whether a file still begins as it did. */
export class RecordDigest {
  private readonly hash = createHash('sha256');

  /** Adds a record's JSON, or undefined for an empty row. */
  add(text: string | undefined): void {
    this.hash.update(`${text ?? ''}\n`);
  }

  /** Of everything added so far. */
  value(): string {
    return this.hash.copy().digest('base64url');
  }
}

/**
 * Passes over the rows that are done, adding them to the digest, and gives the others.
 * @throws CliError when the rows that are done are not those that are there now
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
    digest.add(record.text);
    if (row === done.rows && digest.value() !== done.digest) throw changed(done.rows);
  }
  if (row < done.rows) throw changed(done.rows);
}

const changed = (rows: number): CliError =>
  new CliError(
    `The first ${rows} rows of the file are not those that were scored before. Use --restart to score all of it anew`,
    { code: 'input_changed' },
  );
