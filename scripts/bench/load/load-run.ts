import { seededRandom } from '../../leads/seeded-random.js';
import { closedLoop, openLoop } from '../../load/loops.js';
import type { ProcessGroups } from '../../servers/process-usage.js';
import { checkReply, type HttpReply, sampleOf } from './check-replies.js';
import type { LoadReport, WindowPlan } from './messages.js';
import type { BodySource } from './request-bodies.js';
import { WindowMeter } from './window-meter.js';

/** Answers one call at a time. */
interface Caller {
  call(body: Buffer): Promise<HttpReply>;
  close(): void;
}

interface LoadTarget {
  readonly groups: ProcessGroups;
  readonly bodies: BodySource;
  /** @param caller number of the earlier callers */
  open(caller: number): Promise<Caller>;
}

/** One call in 29 of a window is compared with the floor, up to these numbers. */
const sampleEvery = 29;
const maxSamples = { batch: 3, single: 20, webhook: 20 } as const;
/** An open load with more calls in flight exceeds the capacity; its latencies only grow with the window. */
const maxInFlight = 500;
/** Seed whose first gaps come closest to the requested mean, for short and for long windows. */
const arrivalSeed = 10;

/** Puts the load of a plan on its target and measures it. Rejects if a reply is wrong. */
export async function runLoad(plan: WindowPlan, { groups, bodies, open }: LoadTarget): Promise<LoadReport> {
  const { shape, load } = plan;
  const { recordsPerCall: records } = bodies;
  const meter = new WindowMeter(groups);
  const callers: Caller[] = [];
  let callsInside = 0;

  /** Sends and checks one call. A wrong reply ends the whole run. */
  const call = async (caller: Caller, dueMs: number): Promise<void> => {
    const body = bodies.next();
    try {
      const reply = await caller.call(body);
      meter.answered({ dueMs, records });
      checkReply(reply, { shape, records });
      if (!meter.isOpen) return;
      callsInside += 1;
      if (callsInside % sampleEvery !== 1 || meter.samples.length >= maxSamples[shape]) return;
      meter.samples.push(sampleOf(shape, body, reply));
    } catch (error) {
      meter.fail(error);
    }
  };
  const opened = async (): Promise<Caller> => {
    const caller = await open(callers.length);
    callers.push(caller);
    return caller;
  };
  const isOver = (): boolean => meter.isOver;
  const closed = async (): Promise<void> => {
    const caller = await opened();
    await closedLoop(1, isOver, () => call(caller, performance.now()));
  };
  /** Calls are due at the times of a Poisson process. */
  const poisson = async (callsPerSecond: number): Promise<void> => {
    const random = seededRandom(arrivalSeed);
    const gapMs = (): number => random.exponential(1000 / callsPerSecond);
    const idle: Caller[] = [];
    await openLoop({ gapMs, isOver, maxInFlight, isExact: true }, async (dueMs) => {
      const caller = idle.pop() ?? (await opened());
      await call(caller, dueMs);
      idle.push(caller);
    });
  };

  try {
    const running =
      'callers' in load ? Promise.all(Array.from({ length: load.callers }, closed)) : poisson(load.callsPerSecond);
    return await meter.measure(plan, running);
  } finally {
    for (const caller of callers) caller.close();
  }
}
