import type { FieldReport } from '../../../shared/files/field-match.js';
import type { FileListener } from '../context/file-run.js';
import type { HttpConnections } from './calls/http-connections.js';
import type { ScoreClientOptions } from './calls/score-client.js';
import type { RecordFormat } from './input/input-file.js';
import type { BatchLimits } from './input/record-batches.js';
import type { OutputChoice } from './output/open-run.js';
import type { Disk } from './progress/disk.js';
import type { RunFigures } from './progress/journal.js';

export interface ScoreFileOptions {
  /** CSV or JSONL, gzipped or not. */
  readonly path: string;
  readonly output: OutputChoice;
  readonly modelId: string;
  readonly apiKey: string;
  /** Address of the service, without `/v1`. */
  readonly baseUrl: string;
  /** Column or field that becomes the crm_id; undefined means `crm_id`, if it exists. */
  readonly crmIdField: string | undefined;
  readonly explain: boolean;
  /** Leaves the columns of a CSV out of a CSV of results. */
  readonly onlyScores: boolean;
  /** Sends rows again whose reply was lost so long ago that the service has forgotten their call. */
  readonly sendAgain?: boolean;
  /** Maximum calls in flight. */
  readonly concurrency: number;
  /** Stops the run after the calls in flight; the progress is kept. */
  readonly signal: AbortSignal;
  readonly listener: FileListener;
  /** Replaced in tests. */
  readonly replaced?: {
    readonly disk?: Disk;
    readonly connect?: (options: { readonly connections: number }) => HttpConnections;
    readonly limits?: BatchLimits;
    readonly wait?: NonNullable<ScoreClientOptions['wait']>;
  };
}

/** Result of a completed or stopped run. */
export interface RunReport {
  readonly input: string;
  /** File name of the input, for messages. */
  readonly name: string;
  /** `-` for standard output. */
  readonly output: string;
  /** False when stopped before the end of the file. */
  readonly complete: boolean;
  /** Rows of the input that are in the output, or empty. */
  readonly rows: number;
  /** Rows at the beginning that earlier runs had written. */
  readonly resumedAfterRow: number;
  readonly format: RecordFormat;
  readonly figures: RunFigures;
  /** Undefined when the model's fields are unknown. */
  readonly fields: FieldReport | undefined;
  /** Sentences about the file of a completed run: what was passed over, and repeated ids. */
  readonly notices: readonly string[];
}
