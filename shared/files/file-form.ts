export type FileFormat = 'csv' | 'jsonl';

/** The form of the rows of a file, known after reading. */
export interface FileShape {
  readonly format: FileFormat;
  /** CSV only: the columns of the header. */
  readonly columns: readonly string[];
  /** CSV only. */
  readonly delimiter: string;
  /** CSV: the column with the crm_id, or undefined. JSONL: the member. */
  readonly crm_id_field: string | undefined;
  /** CSV only: whether it begins with a byte order mark, as its results then do. Excel needs one. Absent without it. */
  readonly hasMark?: boolean;
  /** CSV only: empty cells that each row has after the columns. Absent without them. */
  readonly surplus?: number;
  /** CSV only: the footer of a report, whose rows are not scored. */
  readonly footer?: { readonly row: number; readonly line: number; readonly lastLine: number };
}

/** The form of the files of a job. */
export interface FileForm {
  readonly shape: FileShape;
  readonly options: {
    /** Whether a result has the columns of its input row. */
    readonly include_input: boolean;
    readonly explain: boolean;
  };
}
