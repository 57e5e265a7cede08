import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../../shared/contract/errors.js';
import type { SeededRandom } from '../../leads/seeded-random.js';
import type { FaultEvent } from '../check/history.js';
import type { HistoryLog } from '../check/history-log.js';
import type { ChaosStage, Fault, PlannedFault } from './fault.js';
import { networkFaults } from './network-faults.js';
import { serverFaults } from './server-faults.js';
import { gatewayFaults, runnerFaults, workerFaults } from './service-faults.js';

export interface FaultOptions {
  readonly random: SeededRandom;
  readonly history: HistoryLog;
  /** Time by `performance.now()` after which no fault begins. */
  readonly untilMs: number;
  /** Mean time between the end of a fault and the beginning of the next. */
  readonly meanGapMs: number;
  /** Called at the end of each fault. */
  readonly onFault: (fault: FaultEvent) => void;
}

const pairShare = 0.25;

/** All faults of a run. The faults of the network need a proxied gateway 0. */
const allFaults = ({ gateways, redisServers }: ChaosStage['cluster']): readonly Fault[] => [
  ...serverFaults(redisServers),
  ...gatewayFaults(gateways.length),
  ...workerFaults(),
  ...runnerFaults(),
  ...(gateways[0]?.proxies === undefined ? [] : networkFaults()),
];

/**
 * Injects random faults one after the other, sometimes two of different parts at once, and notes them in the history.
 * Resolves at the end of the last one.
 */
export async function causeFaults(stage: ChaosStage, options: FaultOptions): Promise<void> {
  const { random, history, untilMs, meanGapMs, onFault } = options;
  const faults = allFaults(stage.cluster);
  while (performance.now() < untilMs) {
    await pause(random.exponential(meanGapMs));
    const first = random.weighted(faults);
    const others = faults.filter(({ part }) => part !== first.part);
    const chosen = random.chance(pairShare) ? [first, random.weighted(others)] : [first];
    const planned = chosen.map((fault) => fault.plan(random));
    await Promise.all(
      planned.map(async (fault) => {
        const event = await cause(fault, stage, history);
        history.add(event);
        onFault(event);
      }),
    );
  }
}

async function cause(fault: PlannedFault, stage: ChaosStage, history: HistoryLog): Promise<FaultEvent> {
  const beganMs = history.at();
  const failure = await fault.cause(stage).then(
    () => undefined,
    (error: unknown) => messageOf(error),
  );
  return {
    kind: 'fault',
    name: fault.name,
    beganMs,
    endedMs: history.at(),
    ...fault.mark,
    ...(failure === undefined ? {} : { failure }),
  };
}
