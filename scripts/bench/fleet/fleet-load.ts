import { Agent } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { seededRandom } from '../../leads/seeded-random.js';
import { openLoop } from '../../load/loops.js';
import { sendCall } from '../../load/send-call.js';
import { machineBusyMs, readUsage } from '../../servers/process-usage.js';
import { percentile } from '../report/percentile.js';
import type { FleetCall, FleetCalls } from './fleet-calls.js';
import type { FleetService } from './fleet-service.js';
import type { offered } from './fleet-size.js';

/** Calls per second of each kind. */
export type Rates = { readonly [rate in keyof typeof offered]: number };

export const fleetParts = ['gateway', 'workers', 'redis', 'mongod'] as const;
type FleetPart = (typeof fleetParts)[number];

/** Figures of one window. */
export interface Window {
  readonly records: number;
  readonly calls: number;
  readonly elapsedMs: number;
  readonly cpuMs: Readonly<Record<FleetPart, number>>;
  /** Latencies of answered calls; NaN without such calls. */
  readonly p99Ms: { readonly singles: number; readonly batches: number };
  /** CPU time of processes that are neither the service nor this one. */
  readonly othersCpuMs: number;
}

const maxInFlight = 400;

/** Sends calls to the gateways in turn, and checks that each is scored. */
export class FleetCaller {
  private readonly agent = new Agent({ keepAlive: true });
  private calls = 0;

  constructor(private readonly service: Pick<FleetService, 'gateways'>) {}

  /** @throws Error with the beginning of a reply other than 200, or of another number of rows */
  async send({ secret, body, records }: FleetCall): Promise<void> {
    const reply = await this.ask('/v1/score', secret, body);
    if (reply.includes(`"records_scored":${records},`)) return;
    throw new Error(`a call of ${records} records was answered: ${reply.slice(0, 300)}`);
  }

  /** Reads the usage of an organisation, so that Redis has its counter. */
  async readUsage(secret: string): Promise<void> {
    const reply = await this.ask('/v1/usage', secret);
    if (!reply.includes('"current":')) throw new Error(`the usage was answered: ${reply.slice(0, 300)}`);
  }

  close(): void {
    this.agent.destroy();
  }

  private async ask(path: string, secret: string, body?: string): Promise<string> {
    const { gateways } = this.service;
    this.calls += 1;
    const url = `${gateways[this.calls % gateways.length]}${path}`;
    return (await sendCall(url, { secret, body, agent: this.agent })).body.toString();
  }
}

/** Sends calls, some at once. */
export async function sendAll(calls: Iterable<() => Promise<void>>, atOnce: number): Promise<void> {
  const waiting = calls[Symbol.iterator]();
  const loop = async (): Promise<void> => {
    for (let next = waiting.next(); next.done !== true; next = waiting.next()) await next.value();
  };
  await Promise.all(Array.from({ length: atOnce }, loop));
}

/**
 * Offers calls at random moments for some time, whether or not earlier ones have been answered.
 * @param load.newLeads whether every batch is of new leads
 * @throws Error if a call fails, or if the service is too slow for the load
 */
export async function measureWindow(
  { service, caller }: { readonly service: FleetService; readonly caller: FleetCaller },
  load: { readonly rates: Rates; readonly windowMs: number; readonly calls: FleetCalls; readonly newLeads?: boolean },
): Promise<Window> {
  const { rates, windowMs, calls, newLeads = false } = load;
  const before = {
    cpu: readUsage(service.groups),
    busyMs: machineBusyMs(),
    own: process.cpuUsage(),
    atMs: performance.now(),
  };
  const [singles, batches]: [number[], number[]] = [[], []];
  let records = 0;
  const offer = async (perSecond: number, next: () => FleetCall, latencies: number[]): Promise<void> => {
    const random = seededRandom(10);
    const gapMs = (): number => random.exponential(1000 / perSecond);
    const isOver = (dueMs: number): boolean => perSecond === 0 || dueMs > before.atMs + windowMs;
    await openLoop({ gapMs, isOver, maxInFlight }, async (dueMs) => {
      const call = next();
      await caller.send(call);
      records += call.records;
      latencies.push(performance.now() - dueMs);
    });
  };
  await Promise.all([
    offer(rates.singlesPerSecond, () => calls.single(), singles),
    offer(rates.batchesPerSecond, () => (newLeads ? calls.newBatch() : calls.batch()), batches),
    wait(windowMs),
  ]);
  const elapsedMs = performance.now() - before.atMs;
  const after = readUsage(service.groups);
  const { user, system } = process.cpuUsage(before.own);
  const cpuMs = Object.fromEntries(
    fleetParts.map((part) => [part, (after[part]?.cpuMs ?? 0) - (before.cpu[part]?.cpuMs ?? 0)]),
  ) as Record<FleetPart, number>;
  const serviceMs = fleetParts.reduce((sum, part) => sum + cpuMs[part], 0);
  return {
    records,
    calls: singles.length + batches.length,
    elapsedMs,
    cpuMs,
    p99Ms: { singles: p99(singles), batches: p99(batches) },
    othersCpuMs: Math.max(0, machineBusyMs() - before.busyMs - serviceMs - (user + system) / 1000),
  };
}

const p99 = (latencies: readonly number[]): number =>
  latencies.length === 0
    ? Number.NaN
    : percentile(
        [...latencies].sort((one, other) => one - other),
        99,
      );
