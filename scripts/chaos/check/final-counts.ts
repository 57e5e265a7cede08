import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { monthOf } from '../../../shared/contract/dates.js';
import type { Redis } from '../../../shared/redis/connect.js';
import { type UsageBucket, usageKey } from '../../../shared/redis/keys.js';
import { callsCollection } from '../../../shared/store/calls/prediction-segment.js';
import { type LedgerRow, UsageLedger } from '../../../shared/store/calls/usage-ledger.js';
import type { ChaosStage } from '../faults/fault.js';
import type { ChaosOrganisation } from '../load/organisations.js';
import type { CounterEvent, LedgerEvent } from './history.js';

export interface CountsDeps {
  readonly database: Db;
  readonly redis: Redis;
  readonly organisations: readonly ChaosOrganisation[];
}

const buckets: readonly UsageBucket[] = ['live', 'test'];
const pollMs = 100;

/**
 * Waits until the counters equal the sums of the ledger and hold no reservation, at most `withinMs`.
 * @returns the last counters, and the time it took
 */
export async function settledCounters(
  deps: CountsDeps,
  { withinMs }: { readonly withinMs: number },
): Promise<{ readonly counters: readonly CounterEvent[]; readonly tookMs: number }> {
  const beganMs = performance.now();
  for (;;) {
    const counters = await readCounters(deps);
    const sums = await Promise.all(counters.map((counter) => ledgerSum(deps, counter)));
    const tookMs = performance.now() - beganMs;
    const areExact = counters.every(({ used, leased }, index) => used === sums[index] && leased === 0);
    if (areExact || tookMs > withinMs) return { counters, tookMs };
    await pause(pollMs);
  }
}

/** A counter that is missing in Redis equals the ledger: it is rebuilt from the ledger at its next use. */
async function readCounters(deps: CountsDeps): Promise<CounterEvent[]> {
  const all = deps.organisations.flatMap((organisation) =>
    buckets.map(async (bucket): Promise<CounterEvent> => {
      const counter = { organisationId: organisation.id, bucket, month: monthOf(Date.now()) };
      const [used, leased] = await deps.redis.hmget(usageKey(counter), 'used', 'leased');
      const common = { kind: 'counter', organisation: organisation.id, bucket } as const;
      return {
        ...common,
        used: typeof used === 'string' ? Number(used) : await ledgerSum(deps, common),
        leased: Number(leased ?? 0),
        hardStop: organisation.hardStops[bucket],
      };
    }),
  );
  return await Promise.all(all);
}

/** The records of an organisation in the ledger of this month. */
export const ledgerSum = (
  { database }: Pick<CountsDeps, 'database'>,
  { organisation, bucket }: Pick<CounterEvent, 'organisation' | 'bucket'>,
): Promise<number> =>
  new UsageLedger(database).sum({ organisationId: organisation, bucket, month: monthOf(Date.now()) });

/** Every row of the ledger with the number of its predictions, and the number of predictions without a row. */
export async function readLedger(
  database: Db,
): Promise<{ readonly rows: readonly LedgerEvent[]; readonly strayPredictions: number }> {
  const counts = await predictionsPerCall(database);
  const rows: LedgerEvent[] = [];
  const ledger = database.collection<LedgerRow>(callsCollection);
  for await (const row of ledger.find({ bucket: { $exists: true } })) {
    rows.push({
      kind: 'ledger',
      callId: row._id,
      requestId: row.request_id,
      organisation: row.org,
      bucket: row.bucket,
      records: row.records,
      predictions: counts.get(row._id) ?? 0,
    });
    counts.delete(row._id);
  }
  const strayPredictions = [...counts.values()].reduce((sum, count) => sum + count, 0);
  return { rows, strayPredictions };
}

/** The `_id` of a prediction slice is the call's id, followed by a dot and a row number except for the first slice. */
async function predictionsPerCall(database: Db): Promise<Map<string, number>> {
  const groups = database
    .collection(callsCollection)
    .aggregate<{ _id: string; count: number }>(
      [
        { $match: { scores: { $exists: true } } },
        { $project: { scores: 1, call: { $arrayElemAt: [{ $split: ['$_id', '.'] }, 0] } } },
        { $group: { _id: '$call', count: { $sum: { $size: '$scores' } } } },
      ],
      { allowDiskUse: true },
    );
  const counts = new Map<string, number>();
  for await (const { _id, count } of groups) counts.set(_id, count);
  return counts;
}

/** Messages of the service's log that report the end of a process or an uncaught error. */
const alarmingMessages = ['a worker died and is replaced', 'unhandled rejection', 'did not stop in time'];

/** Ends of processes that no fault had caused, and uncaught errors, from the service's log. */
export async function unexpectedDeaths({ cluster, harmedWorkers }: ChaosStage): Promise<string[]> {
  interface LogEntry {
    readonly msg?: string;
    readonly pid?: number;
    readonly signal?: string | null;
    readonly code?: number | null;
  }
  const lines = (await cluster.readLog()).split('\n');
  const entries = lines
    .filter((line) => alarmingMessages.some((text) => line.includes(text)))
    .map((line) => JSON.parse(line) as LogEntry)
    .filter(({ pid }) => pid === undefined || !harmedWorkers.has(pid));
  return [
    ...cluster.unexpectedDeaths,
    ...entries.map(({ msg, pid, signal, code }) => `${msg} (process ${pid}: ${signal ?? `exit code ${code}`})`),
  ];
}
