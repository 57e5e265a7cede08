import type { Explainer, InputRows } from './contributions.js';
import { logOdds } from './log-odds.js';
import { type Compared, Mixtures } from './mixtures.js';
import { Slices } from './slices.js';

/** What runs the model: raw probabilities of `count` rows, as `InferenceSession.run`. */
export type RunModel = (rows: Float32Array, count: number) => Promise<Float64Array>;

export interface OcclusionModel extends Compared {
  readonly run: RunModel;
}

/** Rows of one run: few at first, as nobody knows yet how slow the model is. */
const fewestRows = 16;
const mostRows = 4_096;
const runGoalMs = 10;

/**
 * Contributions to any model, which need not add up: for each field the mean of what its values change when they are put
 * in place of the baseline's, and the baseline's in place of them, on the log-odds:
 * 1/2 * [(f(x) - f(x with the field of the baseline)) + (f(baseline with the field of x) - f(baseline))].
 * A field that is as in the baseline contributes nothing and costs nothing. Where the model gives no number for one of
 * the two mixtures, the other one counts alone.
 */
export function explainByOcclusion(model: OcclusionModel): Explainer {
  const mixtures = new Mixtures(model);
  const runs = new PacedRuns(model);
  return {
    method: 'occlusion',
    contributions: async ({ rows, count, signal }: InputRows) => {
      const out = new Float64Array(count * model.fields);
      const [ofBaseline = 0] = await runs.logOdds(model.baseline, 1, signal);
      const ofRecords = await runs.logOdds(rows, count, signal);
      for (const differences of mixtures.differences(rows, count)) {
        const mixed = mixtures.rows(rows, differences);
        const values = await runs.logOdds(mixed, 2 * differences.length, signal);
        for (const [index, { record, field }] of differences.entries()) {
          const whole = ofRecords[record] ?? Number.NaN;
          out[record * model.fields + field] = meanChange(
            whole - (values[2 * index] ?? Number.NaN),
            (values[2 * index + 1] ?? Number.NaN) - ofBaseline,
          );
        }
      }
      return out;
    },
  };
}

function meanChange(one: number, other: number): number {
  if (Number.isNaN(one)) return Number.isNaN(other) ? 0 : other;
  return Number.isNaN(other) ? one : (one + other) / 2;
}

/** Runs of as many rows as take about 10 ms, since a run holds the thread. */
class PacedRuns {
  private rowsAtOnce = fewestRows;

  constructor(private readonly model: Pick<OcclusionModel, 'run' | 'width'>) {}

  async logOdds(rows: Float32Array, count: number, signal: AbortSignal | undefined): Promise<Float64Array> {
    const { run, width } = this.model;
    const out = new Float64Array(count);
    const slices = new Slices(signal);
    for (let first = 0; first < count; ) {
      const size = Math.min(this.rowsAtOnce, count - first);
      const startedMs = performance.now();
      const raw = await run(rows.subarray(first * width, (first + size) * width), size);
      const tookMs = Math.max(performance.now() - startedMs, 0.01);
      for (const [index, probability] of raw.entries()) out[first + index] = logOdds(probability);
      first += size;
      const fitting = Math.floor((size * runGoalMs) / tookMs);
      this.rowsAtOnce = Math.max(1, Math.min(mostRows, fitting, 4 * this.rowsAtOnce));
      await slices.next();
    }
    return out;
  }
}
