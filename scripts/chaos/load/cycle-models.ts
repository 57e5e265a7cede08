import { closedLoop } from '../../load/loops.js';
import { readUsage } from '../../servers/process-usage.js';

export interface ModelCycles {
  /** Scores one record with a model; returns the status. */
  readonly call: (modelId: string) => Promise<number>;
  /** With more models than a worker keeps, nearly every call loads one and evicts another. */
  readonly modelIds: readonly string[];
  readonly calls: number;
  /** Calls in flight. */
  readonly callers: number;
  /** Current processes that load models. */
  readonly workerPids: () => readonly number[];
  /** Called after each `sampleEvery` calls. */
  readonly onSample: (sample: MemorySample) => void;
  readonly sampleEvery: number;
}

export interface MemorySample {
  /** Answered calls so far. */
  readonly calls: number;
  /** Calls so far whose status was not 200. */
  readonly failed: number;
  /** Resident memory of the largest worker process, MB of 1,000,000 bytes. */
  readonly maxMb: number;
  /** Worker processes replaced so far. */
  readonly replaced: number;
}

/** Calls the models by round robin and samples the memory of the workers. */
export async function cycleModels(cycles: ModelCycles): Promise<MemorySample[]> {
  const { call, modelIds, calls, callers, sampleEvery, onSample } = cycles;
  const samples: MemorySample[] = [];
  const seen = new Set(cycles.workerPids());
  const initialWorkers = seen.size;
  let done = 0;
  let failed = 0;
  const takeSample = () => {
    const pids = cycles.workerPids();
    for (const pid of pids) seen.add(pid);
    const sample = { calls: done, failed, maxMb: maxOf(pids), replaced: seen.size - initialWorkers };
    samples.push(sample);
    onSample(sample);
  };
  let sent = 0;
  await closedLoop(
    callers,
    () => sent >= calls,
    async (index) => {
      sent += 1;
      const status = await call(modelIds[index % modelIds.length] ?? '').catch(() => 0);
      done += 1;
      if (status !== 200) failed += 1;
      if (done % sampleEvery === 0) takeSample();
    },
  );
  return samples;
}

function maxOf(pids: readonly number[]): number {
  const sizes = pids.map((pid) => {
    try {
      return readUsage({ worker: [pid] }).worker.rssMb;
    } catch {
      return 0; // a replaced process
    }
  });
  return Math.max(0, ...sizes);
}
