/** The row that records are compared with, and how its columns belong to fields. */
export interface Compared {
  readonly width: number;
  readonly baseline: Float32Array;
  readonly fields: number;
  readonly fieldOfColumn: Int32Array;
}

/** A field of a record that is not as in the baseline. */
export interface Difference {
  readonly record: number;
  readonly field: number;
}

/** Rows and numbers that are put together at once: a wide model has mixtures of hundreds of megabytes for each record. */
const mostRows = 4_096;
const mostNumbers = 1_048_576;

/** Mixtures of records and a baseline, in groups that are no larger than there is room for. */
export class Mixtures {
  private readonly columnsOf: readonly (readonly number[])[];
  private readonly mostDifferences: number;

  constructor(private readonly compared: Compared) {
    const { width, fields, fieldOfColumn } = compared;
    const columnsOf = Array.from({ length: fields }, (): number[] => []);
    for (const [column, field] of fieldOfColumn.entries()) columnsOf[field]?.push(column);
    this.columnsOf = columnsOf;
    this.mostDifferences = Math.max(1, Math.floor(Math.min(mostRows, mostNumbers / width) / 2));
  }

  /** The fields of some records that differ from the baseline's, in groups. */
  *differences(records: Float32Array, count: number): Generator<readonly Difference[]> {
    let group: Difference[] = [];
    for (let record = 0; record < count; record += 1) {
      for (const [field, columns] of this.columnsOf.entries()) {
        if (columns.every((column) => this.isAsBaseline(records, record, column))) continue;
        group.push({ record, field });
        if (group.length < this.mostDifferences) continue;
        yield group;
        group = [];
      }
    }
    if (group.length > 0) yield group;
  }

  /** Two rows for each difference: the record with the baseline's field, and the baseline with the record's. */
  rows(records: Float32Array, differences: readonly Difference[]): Float32Array {
    const { width, baseline } = this.compared;
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

  private isAsBaseline(records: Float32Array, record: number, column: number): boolean {
    const { width, baseline } = this.compared;
    return Object.is(records[record * width + column], baseline[column]);
  }
}
