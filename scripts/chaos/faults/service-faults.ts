import { setTimeout as pause } from 'node:timers/promises';
import type { SeededRandom } from '../../leads/seeded-random.js';
import { signal } from '../../servers/server-process.js';
import type { ServiceSlot } from '../../servers/slots/service-slot.js';
import { type ChaosStage, type Fault, type PlannedFault, seconds, startAgain } from './fault.js';

const maxFreezeMs = 4_000;
const maxAbsenceMs = 2_000;
/** Exceeds the deadline of the calls of a run. */
const maxRunnerFreezeMs = 5_000;

export function gatewayFaults(gateways: number): readonly Fault[] {
  const one = (random: SeededRandom): Part => gatewayPart(random.integer(0, gateways - 1));
  return [
    { part: 'gateways', weight: 4, plan: (random) => kill(one(random), random.integer(0, maxAbsenceMs)) },
    { part: 'gateways', weight: 2, plan: (random) => freeze(one(random), random.integer(300, maxFreezeMs)) },
    { part: 'gateways', weight: 3, plan: (random) => replace(one(random)) },
  ];
}

export const workerFaults = (): readonly Fault[] => [
  { part: 'workers', weight: 4, plan: (random) => harmWorker('killed', 'SIGKILL', random.uniform()) },
  { part: 'workers', weight: 2, plan: (random) => harmWorker('stopped', 'SIGSTOP', random.uniform()) },
  { part: 'workers', weight: 2, plan: () => killPool },
  { part: 'workers', weight: 2, plan: () => replacePool },
];

export const runnerFaults = (): readonly Fault[] => [
  { part: 'runner', weight: 5, plan: (random) => kill(theRunner, random.integer(0, maxAbsenceMs)) },
  { part: 'runner', weight: 2, plan: (random) => freeze(theRunner, random.integer(300, maxRunnerFreezeMs)) },
  { part: 'runner', weight: 2, plan: () => replace(theRunner) },
];

/** A gateway or the runner of bulk jobs, and how the history marks the harm to it. */
interface Part {
  readonly name: string;
  readonly gateway?: number;
}

const theRunner: Part = { name: 'the runner' };
const gatewayPart = (gateway: number): Part => ({ name: `gateway ${gateway}`, gateway });

function slotOf({ cluster }: ChaosStage, { name, gateway }: Part): ServiceSlot {
  const slot = gateway === undefined ? cluster.runners[0] : cluster.gateways[gateway];
  if (slot === undefined) throw new Error(`${name} does not run`);
  return slot;
}

const kill = (part: Part, awayMs: number): PlannedFault => ({
  name: `${part.name} killed, back after ${seconds(awayMs)}`,
  ...(part.gateway === undefined ? {} : { mark: { killedGateway: part.gateway } }),
  cause: async (stage) => {
    const slot = slotOf(stage, part);
    await slot.kill();
    await pause(awayMs);
    await startAgain(() => slot.start());
  },
});

const freeze = (part: Part, forMs: number): PlannedFault => ({
  name: `${part.name} frozen for ${seconds(forMs)}`,
  ...(part.gateway === undefined ? {} : { mark: { frozenGateway: part.gateway } }),
  cause: async (stage) => {
    const slot = slotOf(stage, part);
    slot.freeze();
    await pause(forMs);
    slot.thaw();
  },
});

const replace = (part: Part): PlannedFault => ({
  name: `${part.name} replaced (SIGTERM)`,
  cause: async (stage) => {
    const slot = slotOf(stage, part);
    const how = await slot.terminate();
    await startAgain(() => slot.start());
    if (how !== 'exit code 0') throw new Error(`${part.name} ended with ${how}`);
  },
});

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
