/*
 * The lines of JSON by which `python -m leadscore_export.train --json-lines` tells how far it is. Its package says when
 * each comes.
 */

/** How one field ranks leads alone. */
export interface RankedField {
  readonly field: string;
  readonly auc: number;
  /** Share of the outcome's variance that the field explains. */
  readonly r2: number;
  readonly filled_won: number;
  readonly filled_lost: number;
  /** Why it was perhaps not known when leads were scored; null if nothing says so. */
  readonly suspect: string | null;
}

/** The folder of a finished training. */
export interface FinishedTraining {
  readonly folder: string;
  readonly bundle: string;
  readonly report: string;
  /** The contents of training.json. */
  readonly training: TrainingDocument;
}

/** The members of training.json that the command line shows. */
interface TrainingDocument {
  readonly name: string;
  readonly version: string;
  readonly rows: Readonly<Record<string, unknown>> & { readonly held_out: number };
  readonly conversion_rate: number;
  readonly left_out: Readonly<Record<string, string>>;
  readonly auc: { readonly held_out: { readonly value: number; readonly low: number; readonly high: number } };
  readonly top_lift: number;
}

export type TrainingMessage =
  | { readonly progress: { readonly text: string; readonly share: number; readonly seconds_left: number | null } }
  | { readonly note: string }
  | { readonly fields: readonly RankedField[] }
  | { readonly ask: { readonly about: string; readonly question: string } }
  | { readonly done: FinishedTraining }
  | {
      readonly error: {
        readonly code: string;
        readonly message: string;
        readonly context?: Readonly<Record<string, unknown>>;
      };
    };

/** A message of the training; undefined for any other line, such as one of a library. */
export function trainingMessage(line: string): TrainingMessage | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as TrainingMessage;
  } catch {
    return undefined;
  }
}
