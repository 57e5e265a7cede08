import { setTimeout as pause } from 'node:timers/promises';
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

const mostStarts = 5;
const betweenStartsMs = 1_000;

/**
 * Starts a part, again when it does not come up, as what runs a service in production does.
 * @throws what the first start failed with, when a later one has come up or none has: a part must start at any moment
 */
export async function startAgain(start: () => Promise<unknown>): Promise<void> {
  let failure: unknown;
  for (let attempt = 1; attempt <= mostStarts; attempt += 1) {
    try {
      await start();
      break;
    } catch (error) {
      failure ??= error;
      await pause(betweenStartsMs);
    }
  }
  if (failure !== undefined) throw failure;
}

/** A time as it is told in the name of a fault. */
export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
