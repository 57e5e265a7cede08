import { setTimeout as pause } from 'node:timers/promises';
import type { SeededRandom } from '../../leads/seeded-random.js';
import type { Cluster } from '../../servers/cluster.js';
import type { FaultEvent } from '../check/history.js';

/** The system that faults are injected into. */
export interface ChaosStage {
  readonly cluster: Cluster;
  /** Process ids of killed and stopped workers. */
  readonly harmedWorkers: Set<number>;
}

/** A fault whose random choices have been drawn. */
export interface PlannedFault {
  /** For the report, as `Redis frozen for 2.1 s`. */
  readonly name: string;
  readonly mark?: Pick<FaultEvent, 'killedGateway' | 'frozenGateway'>;
  /** Injects the fault and repairs what does not recover by itself. */
  readonly cause: (stage: ChaosStage) => Promise<unknown>;
}

export interface Fault {
  /** Two simultaneous faults are of different parts. */
  readonly part: 'redis' | 'mongo' | 'gateways' | 'workers' | 'runner' | 'network';
  /** Relative frequency. */
  readonly weight: number;
  readonly plan: (random: SeededRandom) => PlannedFault;
}

const maxStarts = 5;
const betweenStartsMs = 1_000;

/**
 * Starts a part and retries, as a process supervisor does. A part must start at any moment, so a failed first start is
 * an error even if a later one succeeds.
 * @throws the error of the first failed start
 */
export async function startAgain(start: () => Promise<unknown>): Promise<void> {
  let failure: unknown;
  for (let attempt = 1; attempt <= maxStarts; attempt += 1) {
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

/** A duration in the name of a fault. */
export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
