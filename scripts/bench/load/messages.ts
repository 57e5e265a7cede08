import type { ProcessGroups } from '../../servers/process-usage.js';
import type { CallShape, Load, Scenario } from '../scenarios.js';
import type { RecordSource } from './request-bodies.js';

/** Messages between the benchmark and its measuring processes. */

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
  readonly modelId: string;
  readonly bundlePath: string;
  /** Undefined for the process that measures the floor. */
  readonly gateway: GatewayAddress | undefined;
}

/** One window of load. */
export interface LoadPlan extends Pick<Scenario, 'shape' | 'leads'> {
  readonly load: Load;
  readonly warmUpMs: number;
  readonly windowMs: number;
  readonly target: MeasuredTarget;
}

/** The first request is a preparation and has no report. The others are plans. */
export type Request = Preparation | LoadPlan;
export type Answer = { readonly report?: LoadReport } | { readonly failure: string };

/** Figures of one window. */
export interface LoadReport {
  readonly elapsedMs: number;
  /** Records answered within the window. */
  readonly records: number;
  /** Latency of the calls that were due within the window. */
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly p99: number };
  readonly calls: number;
  /** CPU time within the window, by group. */
  readonly cpuMs: Readonly<Record<string, number>>;
  /** Resident memory at the end of the window, by group. */
  readonly rssMb: Readonly<Record<string, number>>;
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
