import type { ExplainMethod } from '../../shared/score-job.js';

/** Input rows: `count` rows of the model's width, one after the other, as ONNX gets them. */
export interface InputRows {
  readonly rows: Float32Array;
  readonly count: number;
  /** Ends the work early: it then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Works out what each field adds to the log-odds of a record. */
export interface Explainer {
  readonly method: ExplainMethod;
  /**
   * @param fields of the model, see `driverFields`
   * @returns for each row one number a field
   */
  contributions(input: InputRows): Promise<Float64Array>;
}

/** An explainer whose contributions are additive: with `base` they sum to the log-odds. */
export interface ExactExplainer extends Explainer {
  /** The log-odds that contributions start from. */
  readonly base: number;
}

/** Probabilities are kept so far from 0 and 1, where the log-odds are infinite. */
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

/** A probability so close to the mean output says nothing about the scale. */
const minMovement = 1e-7;

/**
 * Scales contributions to a probability so that they add up in log-odds. A forest averages probabilities, so its margin
 * is no sum; contributions to its probability are, and one factor for all of them keeps their order and their signs.
 * @param contributions of all records, changed in place
 * @param of `base`: the mean output; `fields`: numbers a record
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
