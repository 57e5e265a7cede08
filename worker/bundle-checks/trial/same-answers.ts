import { trialLimits } from '../../../shared/bundle/limits.js';
import type { InputRows } from '../../drivers/contributions.js';

/** Runs the model on `count` rows and returns raw probabilities, like `InferenceSession.run`. */
export type RunRows = (rows: Float32Array, count: number) => Promise<Float64Array>;

/** How far two probabilities of one record may differ. */
export interface Tolerance {
  readonly probability: number;
  readonly logOdds: number;
}

/** The largest difference that counts, of one record. */
export interface Difference {
  /** Index of the record. */
  readonly record: number;
  readonly one: number;
  readonly other: number;
  /** How the two calls differ. */
  readonly between: 'equal calls' | 'alone and with others';
}

/**
 * Computes records again together, one by one, in reverse order, and in the largest call of a worker. ONNX
 * Runtime has other code for one row, few rows and many.
 * @param records their rows, and their answers together
 * @returns the first kind of difference beyond the tolerance; undefined if each record always has one answer
 * @throws what the run throws
 */
export async function differenceOf(
  run: RunRows,
  { rows, count, raw: together }: InputRows & { readonly raw: Float64Array },
  tolerance: Tolerance,
): Promise<Difference | undefined> {
  const width = rows.length / count;
  const inOrder = (order: readonly number[]) => picked(run, rows, { order, width });
  const all = Array.from({ length: count }, (_, record) => record);
  const changed = largest(all, together, await inOrder(all), tolerance);
  if (changed !== undefined) return { ...changed, between: 'equal calls' };

  const alone = new Float64Array(count);
  for (const record of all) alone.set(await inOrder([record]), record);
  const full = Array.from({ length: trialLimits.callRecords }, (_, at) => at % count);
  const reversed = all.toReversed();
  for (const [order, others] of [
    [all, together],
    [reversed, await inOrder(reversed)],
    [full, await inOrder(full)],
  ] as const) {
    const found = largest(order, alone, others, tolerance);
    if (found !== undefined) return { ...found, between: 'alone and with others' };
  }
  return undefined;
}

async function picked(
  run: RunRows,
  rows: Float32Array,
  { order, width }: { readonly order: readonly number[]; readonly width: number },
): Promise<Float64Array> {
  const chosen = new Float32Array(order.length * width);
  for (const [at, record] of order.entries())
    chosen.set(rows.subarray(record * width, (record + 1) * width), at * width);
  return run(chosen, order.length);
}

/**
 * The largest difference beyond the tolerance between the answers to some records.
 * @param order the record of each answer in `others`; `ones` are by record
 */
function largest(
  order: readonly number[],
  ones: ArrayLike<number>,
  others: ArrayLike<number>,
  tolerance: Tolerance,
): Omit<Difference, 'between'> | undefined {
  let found: Omit<Difference, 'between'> | undefined;
  let most = 0;
  for (const [at, record] of order.entries()) {
    const one = ones[record] ?? Number.NaN;
    const other = others[at] ?? Number.NaN;
    const excess = excessOf(one, other, tolerance);
    if (excess <= most) continue;
    most = excess;
    found = { record, one, other };
  }
  return found;
}

/** How far two probabilities differ beyond the tolerance; infinite if only one is a number. */
function excessOf(one: number, other: number, { probability, logOdds }: Tolerance): number {
  if (Number.isNaN(one) || Number.isNaN(other))
    return Number.isNaN(one) && Number.isNaN(other) ? 0 : Number.POSITIVE_INFINITY;
  // The slope of the logistic function converts a difference of log-odds to one of probabilities.
  const slope = Math.max(one * (1 - one), other * (1 - other));
  return Math.abs(one - other) - probability - logOdds * slope;
}
