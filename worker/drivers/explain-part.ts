import type { Cell } from '../../shared/packed-cell.js';
import type { ExplainedRows } from '../../shared/score-job.js';
import type { Explanation } from './explainer.js';
import { TimeSlices } from './time-slices.js';

/** The records of one part of a chunk, as cells and as input rows. */
export interface ExplainedRecords {
  readonly cells: readonly (readonly Cell[])[];
  readonly rows: Float32Array;
  readonly nowMs: number;
  /** Aborts the work, which then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Computes the drivers of a part's records. */
export async function explainPart(
  { explainer, writer }: Explanation,
  { cells, rows, nowMs, signal }: ExplainedRecords,
): Promise<ExplainedRows> {
  const contributions = await explainer.contributions({ rows, count: cells.length, signal });
  const fields = writer.fields.length;
  const slices = new TimeSlices(signal);
  const drivers: ExplainedRows['drivers'][number][] = [];
  for (const [record, recordCells] of cells.entries()) {
    const own = contributions.subarray(record * fields, (record + 1) * fields);
    drivers.push(writer.write({ contributions: own, cells: recordCells, nowMs }));
    if (slices.isOver) await slices.next();
  }
  return { method: explainer.method, fields: writer.fields, drivers };
}
