import { TimeSlices } from '../pool/time-slices.js';
import { type Explainer, type InputRows, logOdds } from './contributions.js';

/** Runs the model on `count` rows and returns raw probabilities, like `InferenceSession.run`. */
export type RunModel = (rows: Float32Array, count: number) => Promise<Float64Array>;

export interface OcclusionModel extends Baseline {
  readonly run: RunModel;
}

/** Rows per run. The first run is small, because the model's speed is unknown. */
const minRunRows = 16;
const maxRunRows = 4_096;
const runGoalMs = 10;

/**
 * Explains any model by occlusion; the contributions need not add up. A field's contribution to the log-odds f is the
 * mean effect of replacing its value by the baseline's and the reverse. 1/2 * [(f(x) - f(x with the field of the
 * baseline)) + (f(baseline with the field of x) - f(baseline))].
 * - A field that equals the baseline contributes 0 and needs no run.
 * - If the model returns NaN for one of the two mixtures, only the other counts.
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

/** Adapts the rows per run to about 10 ms, because a run blocks the thread. */
class PacedRuns {
  private rowsAtOnce = minRunRows;

  constructor(private readonly model: Pick<OcclusionModel, 'run' | 'width'>) {}

  async logOdds(rows: Float32Array, count: number, signal: AbortSignal | undefined): Promise<Float64Array> {
    const { run, width } = this.model;
    const out = new Float64Array(count);
    const slices = new TimeSlices(signal);
    for (let first = 0; first < count; ) {
      const size = Math.min(this.rowsAtOnce, count - first);
      const startedMs = performance.now();
      const raw = await run(rows.subarray(first * width, (first + size) * width), size);
      const tookMs = Math.max(performance.now() - startedMs, 0.01);
      for (const [index, probability] of raw.entries()) out[first + index] = logOdds(probability);
      first += size;
      const fitting = Math.floor((size * runGoalMs) / tookMs);
      this.rowsAtOnce = Math.max(1, Math.min(maxRunRows, fitting, 4 * this.rowsAtOnce));
      await slices.next();
    }
    return out;
  }
}

/** The baseline row, and the field of each of its columns. */
interface Baseline {
  readonly width: number;
  readonly baseline: Float32Array;
  readonly fields: number;
  readonly fieldOfColumn: Int32Array;
}

/** A field of a record that differs from the baseline. */
interface Difference {
  readonly record: number;
  readonly field: number;
}

/** Limits of one group: the mixtures of a single record of a wide model can take hundreds of megabytes. */
const maxMixedRows = 4_096;
const maxMixedNumbers = 1_048_576;

/** Builds mixtures of records and a baseline, in groups of bounded size. */
class Mixtures {
  private readonly columnsOf: readonly (readonly number[])[];
  private readonly maxDifferences: number;

  constructor(private readonly model: Baseline) {
    const { width, fields, fieldOfColumn } = model;
    const columnsOf = Array.from({ length: fields }, (): number[] => []);
    for (const [column, field] of fieldOfColumn.entries()) columnsOf[field]?.push(column);
    this.columnsOf = columnsOf;
    this.maxDifferences = Math.max(1, Math.floor(Math.min(maxMixedRows, maxMixedNumbers / width) / 2));
  }

  /** Yields the fields of records that differ from the baseline, in groups. */
  *differences(records: Float32Array, count: number): Generator<readonly Difference[]> {
    let group: Difference[] = [];
    for (let record = 0; record < count; record += 1) {
      for (const [field, columns] of this.columnsOf.entries()) {
        if (columns.every((column) => this.equalsBaseline(records, record, column))) continue;
        group.push({ record, field });
        if (group.length < this.maxDifferences) continue;
        yield group;
        group = [];
      }
    }
    if (group.length > 0) yield group;
  }

  /** Two rows per difference: the record with the baseline's field, then the baseline with the record's field. */
  rows(records: Float32Array, differences: readonly Difference[]): Float32Array {
    const { width, baseline } = this.model;
    const rows = new Float32Array(2 * differences.length * width);
    for (const [index, { record, field }] of differences.entries()) {
      const own = records.subarray(record * width, (record + 1) * width);
      const without = 2 * index * width;
      const alone = without + width;
      rows.set(own, without);
      rows.set(baseline, alone);
      for (const column of this.columnsOf[field] ?? []) {
        rows[without + column] = baseline[column] ?? Number.NaN;
        rows[alone + column] = own[column] ?? Number.NaN;
      }
    }
    return rows;
  }

  private equalsBaseline(records: Float32Array, record: number, column: number): boolean {
    const { width, baseline } = this.model;
    return Object.is(records[record * width + column], baseline[column]);
  }
}
