import type { SeededRandom } from '../demo/seeded-random.js';
import type { Cluster } from './cluster.js';
import type { FaultEvent } from './history.js';

/** What faults are done to. */
export interface ChaosStage {
  readonly cluster: Cluster;
  /** Process ids of workers that were killed or stopped. */
  readonly harmedWorkers: Set<number>;
}

/** A fault with all that is left to chance drawn. */
export interface PlannedFault {
  /** What is told of it, as `Redis frozen for 2.1 s`. */
  readonly name: string;
  readonly mark?: Pick<FaultEvent, 'killedGateway' | 'frozenGateway'>;
  /** Causes it, and makes whole again what does not become so by itself. */
  readonly cause: (stage: ChaosStage) => Promise<unknown>;
}

/** A kind of fault. */
export interface Fault {
  /** Of two faults at the same time, each is of another part. */
  readonly part: 'redis' | 'mongo' | 'gateways' | 'workers' | 'network';
  /** How often it is drawn, beside the others. */
  readonly weight: number;
  /** Draws what is left to chance. */
  readonly plan: (random: SeededRandom) => PlannedFault;
}

/** A time as it is told in the name of a fault. */
export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
