import { expect } from 'chai';
import { eventually } from '../eventually.js';
import type { TestWorkspace } from '../service/workspace.js';
import type { FaultService } from './fault-service.js';

const pollMs = 20; // each check makes three queries

/** The end of a worker process, as logged by its pool. */
export interface WorkerDeath {
  readonly pid: number;
  readonly signal: string | null;
  readonly code: number | null;
}

/**
 * Asserts the state after a fault: usage in Redis equals the ledger's sum, and no lease is open. Each counted record
 * has its prediction. Waits for the sweep and for voids.
 * @param within ms
 * @param counted expected number of records; undefined accepts any
 * @returns the number of counted records
 */
export async function expectExact(own: TestWorkspace, within = 10_000, counted?: number): Promise<number> {
  return await eventually(
    async () => {
      const [used, redis, predictions] = await Promise.all([own.ledgerSum(), own.redisUsage(), own.predictions()]);
      expect(redis, 'usage in Redis against the ledger').to.deep.equal({ used, leased: 0 });
      expect(predictions.length, 'predictions against counted records').to.equal(used);
      if (counted !== undefined) expect(used, 'records counted').to.equal(counted);
      return used;
    },
    within,
    pollMs,
  );
}

/** The worker processes that have ended so far. */
export async function workerDeaths({ cluster }: FaultService): Promise<WorkerDeath[]> {
  return (await entriesOf(cluster)).filter(isWorkerDeath);
}

/** Asserts that only killed processes have ended, and that no rejection was unhandled. */
export async function expectNoOtherDeath(service: FaultService, killed: readonly number[] = []): Promise<void> {
  const deaths = await workerDeaths(service);
  expect(deaths.filter(({ pid }) => !killed.includes(pid))).to.deep.equal([]);
  for (const { service: gateway } of service.cluster.gateways)
    if (gateway !== undefined) expect(gateway.process.exitCode ?? gateway.process.signalCode).to.equal(null);
  const { process: pool } = service.cluster.pool;
  expect(pool.exitCode ?? pool.signalCode).to.equal(null);
  const unhandled = (await entriesOf(service.cluster)).filter(({ msg }) => msg === 'unhandled rejection');
  expect(unhandled).to.deep.equal([]);
}

interface LogEntry {
  readonly msg?: string;
}

const isWorkerDeath = (entry: LogEntry): entry is LogEntry & WorkerDeath =>
  entry.msg === 'a worker died and is replaced';

async function entriesOf(cluster: FaultService['cluster']): Promise<LogEntry[]> {
  const lines = (await cluster.readLog()).split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as LogEntry);
}
