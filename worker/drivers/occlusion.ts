import type { Explainer, InputRows } from './contributions.js';
import { logOdds } from './log-odds.js';
import { Slices } from './slices.js';

/** What runs the model: raw probabilities of `count` rows, as `InferenceSession.run`. */
export type RunModel = (rows: Float32Array, count: number) => Promise<Float64Array>;

export interface OcclusionModel {
  readonly run: RunModel;
  readonly width: number;
  /** The row that stands for an ordinary record. */
  readonly baseline: Float32Array;
  readonly fields: number;
  readonly fieldOfColumn: Int32Array;
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
  const columnsOf = Array.from({ length: model.fields }, (_, field) =>
    Array.from(model.fieldOfColumn.keys()).filter((column) => model.fieldOfColumn[column] === field),
  );
  const runs = new PacedRuns(model);
  return {
    method: 'occlusion',
    contributions: async ({ rows, count }: InputRows) => {
      const out = new Float64Array(count * model.fields);
      const [ofBaseline = 0] = await runs.logOdds(model.baseline, 1);
      const recordsAtOnce = Math.max(1, Math.floor(mostRows / (2 * model.fields + 1)));
      for (let first = 0; first < count; first += recordsAtOnce) {
        const records = Math.min(recordsAtOnce, count - first);
        const ofRecords = rows.subarray(first * model.width, (first + records) * model.width);
        const mixed = mixtures(ofRecords, { model, columnsOf });
        const values = await runs.logOdds(mixed.rows, mixed.count);
        for (const { record, field, without, alone } of mixed.pairs) {
          const whole = values[record] ?? Number.NaN;
          out[(first + record) * model.fields + field] = meanChange(
            whole - (values[without] ?? Number.NaN),
            (values[alone] ?? Number.NaN) - ofBaseline,
          );
        }
      }
      return out;
    },
  };
}

/** Where the two mixtures of one field of one record are among the rows. */
interface Pair {
  readonly record: number;
  readonly field: number;
  /** The record with the baseline's field. */
  readonly without: number;
  /** The baseline with the record's field. */
  readonly alone: number;
}

/** The records themselves, then two mixtures for each field of theirs that differs from the baseline's. */
function mixtures(
  records: Float32Array,
  by: { readonly model: OcclusionModel; readonly columnsOf: readonly (readonly number[])[] },
): { rows: Float32Array; count: number; pairs: Pair[] } {
  const { width, baseline, fields } = by.model;
  const recordCount = records.length / width;
  const rows = new Float32Array(recordCount * (2 * fields + 1) * width);
  rows.set(records);
  let count = recordCount;
  const pairs: Pair[] = [];
  for (let record = 0; record < recordCount; record += 1) {
    const own = records.subarray(record * width, (record + 1) * width);
    for (const [field, columns] of by.columnsOf.entries()) {
      if (columns.every((column) => Object.is(own[column], baseline[column]))) continue;
      const [without, alone] = [count, count + 1];
      count += 2;
      rows.set(own, without * width);
      rows.set(baseline, alone * width);
      for (const column of columns) {
        rows[without * width + column] = baseline[column] ?? Number.NaN;
        rows[alone * width + column] = own[column] ?? Number.NaN;
      }
      pairs.push({ record, field, without, alone });
    }
  }
  return { rows: rows.subarray(0, count * width), count, pairs };
}

function meanChange(one: number, other: number): number {
  if (Number.isNaN(one)) return Number.isNaN(other) ? 0 : other;
  return Number.isNaN(other) ? one : (one + other) / 2;
}

/** Runs of as many rows as take about 10 ms, since a run holds the thread. */
class PacedRuns {
  private rowsAtOnce = fewestRows;

  constructor(private readonly model: Pick<OcclusionModel, 'run' | 'width'>) {}

  async logOdds(rows: Float32Array, count: number): Promise<Float64Array> {
    const { run, width } = this.model;
    const out = new Float64Array(count);
    const slices = new Slices();
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
