import { type OnEnd, stoppedAtEnd } from '../stack/run-to-end.js';
import { type BenchProgress, cpuMsPer1000, type Part, parts } from './bench-result.js';
import { startBenchService } from './bench-service.js';
import type { LoadReport } from './load-messages.js';
import { MeasuringProcess } from './measuring-process.js';
import type { CallShape } from './scenarios.js';
import { recordSourceOf } from './workload-records.js';

/** A load that does not stop: what grows with what is stored, or comes round once a minute, is seen in no window of seconds. */
export interface SustainedLoad {
  readonly shape: CallShape;
  readonly callers: number;
}

/** The rows, by name. */
export const sustainedLoads: Readonly<Record<string, SustainedLoad>> = {
  'sustained-batch': { shape: 'batch', callers: 4 },
  'sustained-webhook': { shape: 'webhook', callers: 32 },
};

/** A stretch of such a load. */
export interface SustainedStretch {
  /** Seconds since the load began, at the end of the stretch. */
  readonly endS: number;
  /** Scored since the load began. */
  readonly recordsSoFar: number;
  readonly recordsPerS: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMsPer1000: Readonly<Record<Part, number>>;
}

/** One load, stretch by stretch. */
export interface SustainedRow extends SustainedLoad {
  readonly name: string;
  readonly stretches: readonly SustainedStretch[];
}

export interface SustainedOptions {
  readonly bundlePath: string;
  readonly isDemoBundle: boolean;
  /** How long the load goes on. */
  readonly minutes: number;
  /** Load before the first stretch, ms: time for V8 to compile what is hot. */
  readonly firstWarmUpMs: number;
  /** Told what is being done, a line at a time. */
  readonly say: (line: string) => void;
  /** Shows how far a row of so many stretches has come. */
  readonly progressOf: (stretches: number) => BenchProgress;
}

const workers = 2;
const stretchMs = 15_000;

/**
 * Puts a load on a service of its own, whose database is empty, for minutes.
 * @param onEnd takes what must be undone, in reverse, when the benchmark ends
 * @throws Error when the service fails, or answers wrongly
 */
export async function measureSustained(
  name: string,
  load: SustainedLoad,
  options: SustainedOptions,
  onEnd: OnEnd,
): Promise<SustainedRow> {
  const { bundlePath, minutes, firstWarmUpMs, say } = options;
  say(`${name}: starting Redis, MongoDB, a gateway and two workers`);
  const service = await startBenchService({ bundlePath, workers, profileDirectory: undefined }, onEnd);
  const { gateway, groups, modelId } = service;
  const preparation = { source: recordSourceOf(options), modelId, bundlePath, gateway };
  const generator = await stoppedAtEnd(onEnd, MeasuringProcess.start('load-generator', preparation));
  await generator.introduce();

  const stretches: SustainedStretch[] = [];
  const count = Math.max(1, Math.round((minutes * 60_000) / stretchMs));
  const progress = options.progressOf(count);
  const label = { name, concurrency: load.callers, callsPerSecond: undefined };
  for (let index = 0; index < count; index += 1) {
    progress.doing(name);
    const report = await generator.run({
      shape: load.shape,
      leads: 'known',
      load: { kind: 'closed', callers: load.callers },
      warmUpMs: index === 0 ? firstWarmUpMs : 0,
      windowMs: stretchMs,
      target: { gateway, groups },
    });
    stretches.push(stretchOf(report, stretches.at(-1)));
    progress.measured(label, report);
  }
  return { name, ...load, stretches };
}

function stretchOf(report: LoadReport, before: SustainedStretch | undefined): SustainedStretch {
  const cpu = parts.map((part) => [part, cpuMsPer1000(report, part)] as const);
  return {
    endS: (before?.endS ?? 0) + report.elapsedMs / 1000,
    recordsSoFar: (before?.recordsSoFar ?? 0) + report.records,
    recordsPerS: (1000 * report.records) / report.elapsedMs,
    p50Ms: report.latencyMs.p50,
    p99Ms: report.latencyMs.p99,
    cpuMsPer1000: Object.fromEntries(cpu) as Record<Part, number>,
  };
}
