import { readUsage } from '../bench/process-usage.js';

/** What calls over many models are made of. */
export interface ModelCycles {
  /** Scores one record with a model; gives the status. */
  readonly call: (modelId: string) => Promise<number>;
  readonly modelIds: readonly string[];
  /** Calls to make. More models than a worker keeps, called in turn: nearly each call loads one and unloads another. */
  readonly calls: number;
  /** Calls under way at once. */
  readonly callers: number;
  /** The processes that load models, as they are now. */
  readonly workerPids: () => readonly number[];
  /** Told after each `sampleEvery` calls. */
  readonly onSample: (sample: MemorySample) => void;
  readonly sampleEvery: number;
}

/** Memory at some moment. */
export interface MemorySample {
  readonly calls: number;
  /** Calls that were answered with anything else than 200, so far. */
  readonly failed: number;
  /** Of the largest worker process, in MB of 1,000,000 bytes. */
  readonly largestMb: number;
  /** Worker processes that have been replaced so far. */
  readonly replaced: number;
}

/** Calls one model after the other and watches the memory of the workers. Gives all samples. */
export async function cycleModels(cycles: ModelCycles): Promise<MemorySample[]> {
  const { call, modelIds, calls, callers, sampleEvery, onSample } = cycles;
  const samples: MemorySample[] = [];
  const seen = new Set(cycles.workerPids());
  const begun = seen.size;
  let sent = 0;
  let done = 0;
  let failed = 0;
  const sample = () => {
    const pids = cycles.workerPids();
    for (const pid of pids) seen.add(pid);
    const taken = { calls: done, failed, largestMb: largestOf(pids), replaced: seen.size - begun };
    samples.push(taken);
    onSample(taken);
  };
  const callOnAndOn = async () => {
    while (sent < calls) {
      const modelId = modelIds[sent++ % modelIds.length] ?? '';
      const status = await call(modelId).catch(() => 0);
      done += 1;
      if (status !== 200) failed += 1;
      if (done % sampleEvery === 0) sample();
    }
  };
  await Promise.all(Array.from({ length: callers }, callOnAndOn));
  return samples;
}

/** A process that has just been replaced cannot be read any more. */
function largestOf(pids: readonly number[]): number {
  const sizes = pids.map((pid) => {
    try {
      return readUsage({ worker: [pid] }).worker.rssMb;
    } catch {
      return 0;
    }
  });
  return Math.max(0, ...sizes);
}
