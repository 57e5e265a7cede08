import { setTimeout as pause } from 'node:timers/promises';
import { signal } from '../../servers/server-process.js';
import type { GatewaySlot } from '../../servers/slots/gateway-slot.js';
import type { RunnerSlot } from '../../servers/slots/runner-slot.js';
import { type ChaosStage, type Fault, type PlannedFault, seconds, startAgain } from './fault.js';

const maxFreezeMs = 4_000;
const maxAbsenceMs = 2_000;
/** Exceeds the deadline of the calls of a run. */
const maxRunnerFreezeMs = 5_000;

export const gatewayFaults = (gateways: number): readonly Fault[] => [
  {
    part: 'gateways',
    weight: 4,
    plan: (random) => killGateway(random.integer(0, gateways - 1), random.integer(0, maxAbsenceMs)),
  },
  {
    part: 'gateways',
    weight: 2,
    plan: (random) => freezeGateway(random.integer(0, gateways - 1), random.integer(300, maxFreezeMs)),
  },
  { part: 'gateways', weight: 3, plan: (random) => replaceGateway(random.integer(0, gateways - 1)) },
];

export const workerFaults = (): readonly Fault[] => [
  { part: 'workers', weight: 4, plan: (random) => harmWorker('killed', 'SIGKILL', random.uniform()) },
  { part: 'workers', weight: 2, plan: (random) => harmWorker('stopped', 'SIGSTOP', random.uniform()) },
  { part: 'workers', weight: 2, plan: () => killPool },
  { part: 'workers', weight: 2, plan: () => replacePool },
];

export const runnerFaults = (): readonly Fault[] => [
  { part: 'runner', weight: 5, plan: (random) => killRunner(random.integer(0, maxAbsenceMs)) },
  { part: 'runner', weight: 2, plan: (random) => freezeRunner(random.integer(300, maxRunnerFreezeMs)) },
  { part: 'runner', weight: 2, plan: () => replaceRunner },
];

const killRunner = (awayMs: number): PlannedFault => ({
  name: `the runner killed, back after ${seconds(awayMs)}`,
  cause: async (stage) => {
    const slot = runnerOf(stage);
    await slot.end('SIGKILL');
    await pause(awayMs);
    await startAgain(() => slot.start());
  },
});

const freezeRunner = (forMs: number): PlannedFault => ({
  name: `the runner frozen for ${seconds(forMs)}`,
  cause: async (stage) => {
    const slot = runnerOf(stage);
    slot.freeze();
    await pause(forMs);
    slot.thaw();
  },
});

const replaceRunner: PlannedFault = {
  name: 'the runner replaced (SIGTERM)',
  cause: async (stage) => {
    const slot = runnerOf(stage);
    const how = await slot.end('SIGTERM');
    await startAgain(() => slot.start());
    if (how !== 'exit code 0') throw new Error(`the runner ended with ${how}`);
  },
};

function runnerOf({ cluster }: ChaosStage): RunnerSlot {
  const [slot] = cluster.runners;
  if (slot === undefined) throw new Error('there is no runner of bulk jobs');
  return slot;
}

const killGateway = (gateway: number, awayMs: number): PlannedFault => ({
  name: `gateway ${gateway} killed, back after ${seconds(awayMs)}`,
  mark: { killedGateway: gateway },
  cause: async (stage) => {
    const slot = slotOf(stage, gateway);
    await slot.kill();
    await pause(awayMs);
    await startAgain(() => slot.start());
  },
});

const freezeGateway = (gateway: number, forMs: number): PlannedFault => ({
  name: `gateway ${gateway} frozen for ${seconds(forMs)}`,
  mark: { frozenGateway: gateway },
  cause: async (stage) => {
    const slot = slotOf(stage, gateway);
    slot.freeze();
    await pause(forMs);
    slot.thaw();
  },
});

const replaceGateway = (gateway: number): PlannedFault => ({
  name: `gateway ${gateway} replaced (SIGTERM)`,
  cause: async (stage) => {
    const slot = slotOf(stage, gateway);
    const how = await slot.terminate();
    await startAgain(() => slot.start());
    if (how !== 'exit code 0') throw new Error(`the gateway ended with ${how}`);
  },
});

function slotOf({ cluster }: ChaosStage, gateway: number): GatewaySlot {
  const slot = cluster.gateways[gateway];
  if (slot === undefined) throw new Error(`there is no gateway ${gateway}`);
  return slot;
}

/** @param choice picks the worker, from 0 (the first) to below 1 (the last) */
const harmWorker = (how: string, harmful: NodeJS.Signals, choice: number): PlannedFault => ({
  name: `a worker ${how}`,
  cause: async ({ cluster, harmedWorkers }) => {
    const pids = cluster.workerPids();
    const pid = pids[Math.floor(choice * pids.length)];
    if (pid === undefined) return;
    harmedWorkers.add(pid);
    signal(pid, harmful);
  },
});

const killPool: PlannedFault = {
  name: 'the worker pool killed, and another one started',
  cause: async ({ cluster }) => {
    await cluster.killPool(cluster.pool);
    await startAgain(() => cluster.startPool());
  },
};

const replacePool: PlannedFault = {
  name: 'the worker pool replaced (SIGTERM)',
  cause: async ({ cluster }) => {
    const old = cluster.pool;
    await startAgain(() => cluster.startPool());
    const how = await cluster.stopPool(old);
    if (how !== 'exit code 0') throw new Error(`the pool ended with ${how}`);
  },
};
