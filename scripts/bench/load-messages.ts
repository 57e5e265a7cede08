import type { ProcessGroups } from './process-usage.js';
import type { CallShape, Load, Scenario } from './scenarios.js';
import type { RecordSource } from './workload-records.js';

/** Every message between the benchmark and the two processes that it measures with. */

/** What the load generator and the floor get ready before the first window. */
export interface Preparation {
  readonly source: RecordSource;
  readonly modelId: string;
  readonly bundlePath: string;
  /** Undefined for the floor. */
  readonly gateway: GatewayAddress | undefined;
}

export interface GatewayAddress {
  readonly host: string;
  readonly port: number;
  /** API keys; callers take turns. */
  readonly secrets: readonly string[];
}

/** Something that answers calls, and the processes that it consists of. */
export interface MeasuredTarget {
  readonly gateway: GatewayAddress;
  /** `gateway`, `workers`, `redis`, `mongod`. */
  readonly groups: ProcessGroups;
}

/** One window of load. */
export interface LoadPlan extends Pick<Scenario, 'shape' | 'leads'> {
  readonly load: Load;
  readonly warmUpMs: number;
  readonly windowMs: number;
  /** What is called; the CPU time of its processes is read when the window opens and when it closes. */
  readonly target: MeasuredTarget;
}

export type Request =
  | { readonly kind: 'prepare'; readonly preparation: Preparation }
  /** Scores every known lead once. */
  | { readonly kind: 'introduce' }
  | { readonly kind: 'run'; readonly plan: LoadPlan };

export type Answer =
  | { readonly kind: 'done' }
  | { readonly kind: 'measured'; readonly report: LoadReport }
  | { readonly kind: 'failed'; readonly message: string };

/** What one window came to. */
export interface LoadReport {
  readonly elapsedMs: number;
  /** Answered within the window. */
  readonly records: number;
  /** Of the calls that were due within the window. */
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly p99: number };
  readonly calls: number;
  /** CPU time within the window and resident memory at its end, by group. */
  readonly cpuMs: Readonly<Record<string, number>>;
  readonly rssMb: Readonly<Record<string, number>>;
  readonly generatorCpuMs: number;
  /** CPU time that processes outside the benchmark took within the window. */
  readonly othersCpuMs: number;
  readonly samples: readonly SampledCall[];
}

/** A call that was kept to be compared with the floor. */
export interface SampledCall {
  readonly shape: CallShape;
  readonly body: string;
  /** By which the ledger knows the call. */
  readonly requestId: string;
  /** Unix ms that ages were counted to, where the reply says so and there is no ledger. */
  readonly scoredAtMs: number | undefined;
  readonly reply: string;
}
