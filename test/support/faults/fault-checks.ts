import { expect } from 'chai';
import { eventually } from '../eventually.js';
import type { TestWorkspace } from '../service/workspace.js';
import type { FaultService } from './fault-service.js';

/** Each look is three queries. */
const pollMs = 20;

/** A worker that died or a stuck one that was killed, by the pool's log. */
export interface WorkerDeath {
  readonly pid: number;
  readonly signal: string | null;
  readonly code: number | null;
}

/**
 * Asserts what must hold once a fault is over: what Redis counts is what the ledger adds up to, nothing is held, and each
 * counted record has its prediction. Waits for the sweep, where it has something to do.
 * @param within ms
 * @param counted the records that must be counted: what was recorded in vain may be in the ledger until it is taken back
 * @returns the records that are counted
 */
export async function expectExact(own: TestWorkspace, within = 2_000, counted?: number): Promise<number> {
  return await eventually(
    async () => {
      const [used, redis, predictions] = await Promise.all([
        own.ledgerSum(),
        own.redisUsage(),
        own.predictions(),
      ]);
      expect(redis, 'what Redis counts, and the ledger').to.deep.equal({ used, leased: 0 });
      expect(predictions.length, 'predictions, and counted records').to.equal(used);
      if (counted !== undefined) expect(used, 'records counted').to.equal(counted);
      return used;
    },
    within,
    pollMs,
  );
}

/** The workers that have died so far. */
export async function workerDeaths({ cluster }: FaultService): Promise<WorkerDeath[]> {
  return (await entriesOf(cluster)).flatMap((entry) =>
    entry.msg === 'a worker died and is replaced' ? (entry as unknown as WorkerDeath) : [],
  );
}

/** Asserts that no process has gone but those that were killed, and that no error went unnoticed. */
export async function expectNoOtherDeath(
  service: FaultService,
  killed: readonly number[] = [],
): Promise<void> {
  const deaths = await workerDeaths(service);
  expect(deaths.filter(({ pid }) => !killed.includes(pid))).to.deep.equal([]);
  for (const { gateway } of service.cluster.gateways)
    if (gateway !== undefined) expect(gateway.process.exitCode ?? gateway.process.signalCode).to.equal(null);
  const { process: pool } = service.cluster.pool;
  expect(pool.exitCode ?? pool.signalCode).to.equal(null);
  const unnoticed = (await entriesOf(service.cluster)).filter(({ msg }) => msg === 'unhandled rejection');
  expect(unnoticed).to.deep.equal([]);
}

type LogEntry = Readonly<Record<string, unknown>>;

async function entriesOf(cluster: FaultService['cluster']): Promise<LogEntry[]> {
  const lines = (await cluster.readLog()).split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as LogEntry);
}
