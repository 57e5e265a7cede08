import { signal } from '../local-servers/server-process.js';
import { type Fault, type PlannedFault, startAgain } from './fault.js';

/** What is done to workers and their pool. */
export const workerFaults = (): readonly Fault[] => [
  { part: 'workers', weight: 4, plan: (random) => harm('killed', 'SIGKILL', random.uniform()) },
  { part: 'workers', weight: 2, plan: (random) => harm('stopped', 'SIGSTOP', random.uniform()) },
  { part: 'workers', weight: 2, plan: () => killPool },
  { part: 'workers', weight: 2, plan: () => replacePool },
];

/** @param choice which worker: 0 for the first, to just below 1 for the last */
const harm = (how: string, harmful: NodeJS.Signals, choice: number): PlannedFault => ({
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
