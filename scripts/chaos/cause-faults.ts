import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../shared/errors.js';
import type { SeededRandom } from '../demo/seeded-random.js';
import type { ChaosStage, Fault, PlannedFault } from './fault.js';
import type { FaultEvent } from './history.js';
import type { HistoryLog } from './history-log.js';

export interface FaultTimes {
  /** When the last fault has begun, in the terms of `performance.now()`. */
  readonly untilMs: number;
  /** Between the end of a fault and the beginning of the next, on average. */
  readonly meanGapMs: number;
}

const oneInFour = 0.25;

/**
 * Causes one random fault after the other, at times two of different parts at once, and notes them in the history.
 * Returns when the last one is over.
 * @param onFault told of each when it is over
 */
export async function causeFaults(
  faults: readonly Fault[],
  stage: ChaosStage,
  options: FaultTimes & {
    readonly random: SeededRandom;
    readonly history: HistoryLog;
    readonly onFault: (fault: FaultEvent) => void;
  },
): Promise<void> {
  const { random, history, untilMs, meanGapMs, onFault } = options;
  while (performance.now() < untilMs) {
    await pause(random.exponential(meanGapMs));
    const first = random.weighted(faults);
    const others = faults.filter(({ part }) => part !== first.part);
    const chosen = random.chance(oneInFour) ? [first, random.weighted(others)] : [first];
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
