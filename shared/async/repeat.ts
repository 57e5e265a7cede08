import { everyTick } from './ticks.js';
import { withTimeout } from './timeouts.js';

/** Time that a stop gives to a run in flight. Each run must be safe to interrupt anywhere. */
const maxStopMs = 1_000;

/** A work that is repeated by ticks. */
export interface Repeated {
  /**
   * Begins no more runs, and waits for the one in flight for at most a second. Stop it before you close a connection
   * that it uses. Else the run in flight fails and logs a fault that is none.
   */
  stop(): Promise<void>;
}

/**
 * Runs `work` now and at each tick of `everyMs`, one run at a time: a run that would begin during another is left out.
 * @param work never rejects
 */
export function repeatEvery(everyMs: number, work: () => Promise<void>): Repeated {
  let inFlight: Promise<void> | undefined;
  const begin = (): void => {
    inFlight ??= work().finally(() => {
      inFlight = undefined;
    });
  };
  begin();
  const end = everyTick(everyMs, begin);
  return {
    stop: async () => {
      end();
      await withTimeout(maxStopMs, inFlight ?? Promise.resolve()).catch(() => undefined);
    },
  };
}
