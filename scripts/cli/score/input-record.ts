/** One record of the input file, ready to be sent. */
export interface InputRecord {
  /** Which record of the file it is, from 1; a CSV's header is not counted, an empty row is. */
  readonly row: number;
  /** The line on which it begins, from 1. */
  readonly line: number;
  /** The record as JSON; undefined for a row whose cells are all empty: nothing is sent for it. */
  readonly text: string | undefined;
  /** Bytes of the (inflated) file up to the end of this record. */
  readonly endByte: number;
}

/** Which fields of the file become a record's `crm_id`, and how. */
export interface RecordOptions {
  /** Column or field that holds the crm_id; undefined: `crm_id` when there is one. */
  readonly crmIdField: string | undefined;
  /**
   * Told the names under which values are sent, `crm_id` among them: a CSV's columns once, before the first record; in
   * JSONL those of each record, when it is read.
   */
  readonly onNames?: ((names: readonly string[]) => void) | undefined;
}
