import type { ProcessGroups } from '../../servers/process-usage.js';
import type { CallShape, Load, Scenario } from '../scenarios.js';
import type { RecordSource } from './request-bodies.js';

/** Messages between the benchmark and the process that makes the load. */

export interface GatewayAddress {
  readonly host: string;
  readonly port: number;
  /** API keys. Connections use them in rotation. */
  readonly secrets: readonly string[];
}

/** A service under test and its processes. */
export interface MeasuredTarget {
  readonly gateway: GatewayAddress;
  /** `gateway`, `workers`, `redis`, `mongod`. */
  readonly groups: ProcessGroups;
}

export interface Preparation {
  readonly source: RecordSource;
  readonly gateway: GatewayAddress;
}

/** One window of load. */
export interface WindowPlan extends Pick<Scenario, 'shape' | 'leads'> {
  readonly load: Load;
  readonly warmUpMs: number;
  readonly windowMs: number;
}

export interface LoadPlan extends WindowPlan {
  readonly target: MeasuredTarget;
}

/** Parts of the service with CPU time and memory of their own, and their sum. */
export const parts = ['gateway', 'workers', 'redis', 'mongod', 'total'] as const;
export type ByPart = Readonly<Record<(typeof parts)[number], number>>;

/** Figures of one window, or medians of several, under their names in `--json`. */
export interface Figures {
  readonly records_per_s: number;
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly p99_ms: number;
  /** CPU-milliseconds per 1,000 records. The floor has only a total. */
  readonly cpu_ms_per_1000: ByPart;
  /** Resident memory at the end of the window. */
  readonly rss_mb: ByPart;
}

/** Results of one window. */
export interface LoadReport {
  readonly elapsedMs: number;
  readonly figures: Figures;
  /** CPU time within the window by group of processes. */
  readonly cpuMs: Readonly<Record<string, number>>;
  /** Records answered within the window. */
  readonly records: number;
  /** Calls that were due within the window. */
  readonly calls: number;
  readonly generatorCpuMs: number;
  /** CPU time of processes outside the benchmark. */
  readonly othersCpuMs: number;
  readonly samples: readonly SampledCall[];
}

/** A call whose reply is compared with the floor's. */
export interface SampledCall {
  readonly shape: CallShape;
  readonly body: string;
  /** Id of the call in the ledger; empty if the reply has none. */
  readonly requestId: string;
  /** Unix ms that ages were counted to, if the reply states it. Otherwise the ledger has it. */
  readonly scoredAtMs: number | undefined;
  readonly reply: string;
}
