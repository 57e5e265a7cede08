import type { ExplainMethod } from '../../shared/messages/score-job.js';

/** `count` consecutive input rows of the model's width, in ONNX's layout. */
export interface InputRows {
  readonly rows: Float32Array;
  readonly count: number;
  /** Aborts the work, which then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** How the input columns of a model belong to its fields. */
export interface FieldColumns {
  /** Number of input columns. */
  readonly width: number;
  /** Contributions per record, and the index of each input column's field among them. */
  readonly fields: number;
  readonly fieldOfColumn: Int32Array;
}

/** Computes how much each field adds to the log-odds of a record. */
export interface Explainer {
  readonly method: ExplainMethod;
  /** @returns one number per row and field, row by row; fields are in the order of `driverFields` */
  contributions(input: InputRows): Promise<Float64Array>;
}

/** An explainer whose contributions are additive: `base` plus their sum is the log-odds. */
export interface ExactExplainer extends Explainer {
  /** Expected log-odds without any contribution. */
  readonly base: number;
}

/** Probabilities are clamped this far from 0 and 1, where log-odds are infinite. */
const minProbability = 1e-7;

/** The log-odds of a probability. */
export function logOdds(probability: number): number {
  const inside = Math.min(Math.max(probability, minProbability), 1 - minProbability);
  return Math.log(inside / (1 - inside));
}

/** The probability of log-odds. */
export function logistic(margin: number): number {
  const decayed = Math.exp(-Math.abs(margin));
  return margin >= 0 ? 1 / (1 + decayed) : decayed / (1 + decayed);
}

/** A probability closer to the mean output determines no scale. */
const minMovement = 1e-7;

/**
 * Scales contributions to a probability so that they add up in log-odds. A forest averages probabilities, so only the
 * contributions to its probability are additive. One factor per record keeps their order and signs.
 * @param contributions of all records, modified in place
 * @param of `base`: the mean output; `fields`: numbers per record
 */
export function scaleToLogOdds(
  contributions: Float64Array,
  { base, fields }: { readonly base: number; readonly fields: number },
): void {
  const baseLogOdds = logOdds(base);
  for (let first = 0; first < contributions.length; first += fields) {
    let moved = 0;
    for (let at = first; at < first + fields; at += 1) moved += contributions[at] ?? 0;
    if (Math.abs(moved) <= minMovement) continue;
    const factor = (logOdds(base + moved) - baseLogOdds) / moved;
    for (let at = first; at < first + fields; at += 1) contributions[at] = (contributions[at] ?? 0) * factor;
  }
}
