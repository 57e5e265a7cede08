/** Counts of a worker process, which its pool adds up for the metrics. */
export interface WorkerCounts {
  /** Cells of records that are unreadable for the model and count as missing. */
  readonly unreadable: number;
  /** Values of records that the model has not seen in training. */
  readonly unseen: number;
  /** Loads of a model. ONNX Runtime leaks some memory with each. */
  readonly loads: number;
  /** Chunks whose model the process had loaded, or was loading. */
  readonly hits: number;
}

export const noCounts: WorkerCounts = { unreadable: 0, unseen: 0, loads: 0, hits: 0 };

/** Adds `other`, or subtracts it with a sign of -1. */
export function addCounts(one: WorkerCounts, other: WorkerCounts, sign: 1 | -1 = 1): WorkerCounts {
  return {
    unreadable: one.unreadable + sign * other.unreadable,
    unseen: one.unseen + sign * other.unseen,
    loads: one.loads + sign * other.loads,
    hits: one.hits + sign * other.hits,
  };
}
