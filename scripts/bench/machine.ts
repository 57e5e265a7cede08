import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';

/** What was measured on. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memory_gb: number;
  readonly platform: string;
  readonly node: string;
  readonly redis: string;
  readonly mongod: string;
  readonly workers: number;
  /** Processes that wanted to run in the minute before the first window, on average. */
  readonly load_average: number;
  /** Cores that processes outside the benchmark kept busy within the windows, on average; above 0.1 is not quiet. */
  readonly others_cores?: number;
}

/** Describes this machine as it is now. */
export function describeMachine(of: Pick<Machine, 'redis' | 'mongod' | 'workers'>): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memory_gb: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform} ${process.arch}`,
    node: process.versions.node,
    redis: of.redis,
    mongod: of.mongod,
    workers: of.workers,
    load_average: Number((loadavg()[0] ?? 0).toFixed(2)),
  };
}

/** The machine in one line. */
export function machineLine(machine: Machine): string {
  return (
    `${machine.cores} cores (${machine.cpu}), ${machine.memory_gb} GB, ${machine.platform}; Node ${machine.node}, ` +
    `Redis ${machine.redis}, MongoDB ${machine.mongod}; one gateway, ${machine.workers} workers`
  );
}
