import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { seededRandom } from '../../leads/seeded-random.js';
import { checkReply, sampleOf } from './check-replies.js';
import { callHead, HttpConnection } from './http-connection.js';
import type { LoadPlan, LoadReport } from './messages.js';
import type { BodySource } from './request-bodies.js';
import { WindowMeter } from './window-meter.js';

/** One call in 29 of a window is compared with the floor, up to these numbers. */
const sampleEvery = 29;
const maxSamples = { batch: 3, single: 20, webhook: 20 } as const;
/** An open load with more calls in flight exceeds the capacity; its latencies only grow with the window. */
const maxInFlight = 500;
/** Lateness of a Node timer, ms. The rest of the time passes in turns of the event loop. */
const timerSlackMs = 2;
/** Seed whose first gaps come closest to the requested mean, for short and for long windows. */
const arrivalSeed = 10;

/** Puts the load of a plan on its target and measures it. Rejects if a reply is wrong. */
export async function runLoad(plan: LoadPlan, bodies: BodySource): Promise<LoadReport> {
  const run = new LoadRun(plan, bodies);
  try {
    return await run.measured();
  } finally {
    run.close();
  }
}

class LoadRun {
  private readonly meter: WindowMeter;
  private readonly heads: readonly string[];
  private readonly connections: HttpConnection[] = [];
  private readonly idle: HttpConnection[] = [];
  private callsInside = 0;

  constructor(
    private readonly plan: LoadPlan,
    private readonly bodies: BodySource,
  ) {
    const { gateway, groups } = plan.target;
    this.meter = new WindowMeter(groups);
    this.heads = gateway.secrets.map((secret) => callHead(gateway, plan.shape, secret));
  }

  measured(): Promise<LoadReport> {
    const { load } = this.plan;
    const running = load.kind === 'closed' ? this.closedLoop(load.callers) : this.openLoop(load.callsPerSecond);
    return this.meter.measure(this.plan, running);
  }

  close(): void {
    for (const connection of this.connections) connection.close();
  }

  private async closedLoop(callers: number): Promise<void> {
    const caller = async () => {
      const connection = await this.connection();
      while (!this.meter.isOver) await this.call(connection, performance.now());
    };
    await Promise.all(Array.from({ length: callers }, caller));
  }

  /** Calls are due at the times of a Poisson process, whether or not earlier calls have been answered. */
  private async openLoop(callsPerSecond: number): Promise<void> {
    const random = seededRandom(arrivalSeed);
    const inFlight = new Set<Promise<void>>();
    const meanGapMs = 1000 / callsPerSecond;
    for (let dueMs = performance.now(); ; dueMs += random.exponential(meanGapMs)) {
      await this.until(dueMs);
      if (this.meter.isOver) break;
      if (inFlight.size >= maxInFlight) {
        this.meter.fail(new Error(`${callsPerSecond} calls a second exceed the capacity of the service`));
        break;
      }
      const call = this.callOnAny(dueMs);
      inFlight.add(call);
      void call.finally(() => inFlight.delete(call));
    }
    await Promise.all(inFlight);
  }

  private async until(dueMs: number): Promise<void> {
    const sleepMs = Math.floor(dueMs - performance.now() - timerSlackMs);
    if (sleepMs > 0) await wait(sleepMs);
    while (performance.now() < dueMs && !this.meter.isOver) await nextTurn();
  }

  private async callOnAny(dueMs: number): Promise<void> {
    const connection = this.idle.pop() ?? (await this.connection());
    await this.call(connection, dueMs);
    this.idle.push(connection);
  }

  /** Sends and checks one call. A wrong reply ends the whole run. */
  private async call(connection: HttpConnection, dueMs: number): Promise<void> {
    const { shape } = this.plan;
    const records = this.bodies.recordsPerCall;
    const body = this.bodies.next();
    const head = this.heads[this.connections.indexOf(connection) % this.heads.length] ?? '';
    try {
      const reply = await connection.call(head, body);
      this.meter.answered({ dueMs, records });
      checkReply(reply, { shape, records });
      if (!this.meter.isOpen) return;
      this.callsInside += 1;
      const { samples } = this.meter;
      if (this.callsInside % sampleEvery !== 1 || samples.length >= maxSamples[shape]) return;
      samples.push(sampleOf(shape, body, reply));
    } catch (error) {
      this.meter.fail(error);
    }
  }

  private async connection(): Promise<HttpConnection> {
    const connection = await HttpConnection.open(this.plan.target.gateway);
    this.connections.push(connection);
    return connection;
  }
}
