import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { seededRandom } from '../demo/seeded-random.js';
import { checkReply, requestIdOf, scoredAtMsOf } from './call-check.js';
import { HttpConnection } from './http-connection.js';
import type { LoadPlan, LoadReport } from './load-messages.js';
import type { BodySource } from './request-bodies.js';
import { endpointOf } from './scenarios.js';
import { WindowMeter } from './window-meter.js';

/** Of the calls of a window every so many is kept, until there are enough, to be compared with the floor. */
const sampleEvery = 29;
const samplesKept = { batch: 3, single: 20, webhook: 20 } as const;
/** An open load with more calls under way than this has lost the race: its latencies would only say for how long. */
const mostUnderWay = 500;
/** A timer may fire this much late; the rest of the time is waited turn by turn. */
const timerSlackMs = 2;
/** Of the stream whose first gaps, few or many, come closest to the mean that is asked for. */
const arrivalSeed = 10;

/** Puts one plan's load on its target and measures it; rejects when a reply is wrong. */
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
    this.meter = new WindowMeter(plan.target.groups);
    const endpoint = endpointOf[plan.shape];
    const { gateway } = plan.target;
    this.heads = gateway.secrets.map(
      (secret) =>
        `POST ${endpoint} HTTP/1.1\r\nHost: ${gateway.host}:${gateway.port}\r\n` +
        `Authorization: Bearer ${secret}\r\nContent-Type: application/json\r\n`,
    );
  }

  measured(): Promise<LoadReport> {
    const { load } = this.plan;
    const running =
      load.kind === 'closed' ? this.closedLoop(load.callers) : this.openLoop(load.callsPerSecond);
    return this.meter.measure(this.plan, running);
  }

  close(): void {
    for (const connection of this.connections) connection.close();
  }

  /** Each caller makes a call when its last one was answered. */
  private async closedLoop(callers: number): Promise<void> {
    const caller = async () => {
      const connection = await this.connection();
      while (!this.meter.isOver) await this.call(connection, performance.now());
    };
    await Promise.all(Array.from({ length: callers }, caller));
  }

  /** Calls are due at random moments (a Poisson process), whether earlier ones have been answered or not. */
  private async openLoop(callsPerSecond: number): Promise<void> {
    const random = seededRandom(arrivalSeed);
    const underWay = new Set<Promise<void>>();
    const meanGapMs = 1000 / callsPerSecond;
    for (let dueMs = performance.now(); ; dueMs += random.exponential(meanGapMs)) {
      await this.until(dueMs);
      if (this.meter.isOver) break;
      if (underWay.size >= mostUnderWay) {
        this.meter.fail(new Error(`${callsPerSecond} calls a second are more than the service can do`));
        break;
      }
      const call = this.callOnAny(dueMs);
      underWay.add(call);
      void call.finally(() => underWay.delete(call));
    }
    await Promise.all(underWay);
  }

  /** A timer alone would send up to a millisecond late. */
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

  /** Makes and checks one call; a wrong reply ends the whole run. */
  private async call(connection: HttpConnection, dueMs: number): Promise<void> {
    const { shape } = this.plan;
    const records = this.bodies.recordsPerCall;
    const body = this.bodies.next();
    try {
      const reply = await connection.call(this.headFor(connection), body);
      this.meter.answered({ dueMs, records });
      checkReply(reply, { shape, records });
      if (!this.meter.isOpen) return;
      this.callsInside += 1;
      const { samples } = this.meter;
      if (this.callsInside % sampleEvery !== 1 || samples.length >= samplesKept[shape]) return;
      samples.push({
        shape,
        body: body.toString('utf8'),
        requestId: requestIdOf(reply),
        scoredAtMs: scoredAtMsOf(reply),
        reply: reply.body.toString('utf8'),
      });
    } catch (error) {
      this.meter.fail(error);
    }
  }

  private headFor(connection: HttpConnection): string {
    return this.heads[this.connections.indexOf(connection) % this.heads.length] ?? '';
  }

  private async connection(): Promise<HttpConnection> {
    const connection = await HttpConnection.open(this.plan.target.gateway);
    this.connections.push(connection);
    return connection;
  }
}
