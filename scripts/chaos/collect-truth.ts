import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Db } from 'mongodb';
import { monthOf } from '../../shared/clock.js';
import { type UsageBucket, usageKey } from '../../shared/redis-keys.js';
import { callsCollection } from '../../shared/store/calls-collection.js';
import { type LedgerRow, UsageLedger } from '../../shared/store/usage-ledger.js';
import type { ChaosOrganisation } from './chaos-organisations.js';
import type { CounterEvent, LedgerEvent } from './history.js';

export interface TruthRooms {
  readonly database: Db;
  readonly redis: Redis;
  readonly organisations: readonly ChaosOrganisation[];
}

const buckets: readonly UsageBucket[] = ['live', 'test'];
const pollMs = 100;

/**
 * The counters once Redis counts what the ledger adds up to and nothing is held, or as they are when that takes too long.
 * @returns how long it took, in ms, beside them
 */
export async function quietCounters(
  rooms: TruthRooms,
  { withinMs }: { readonly withinMs: number },
): Promise<{ readonly counters: readonly CounterEvent[]; readonly tookMs: number }> {
  const beganMs = performance.now();
  for (;;) {
    const counters = await readCounters(rooms);
    const sums = await Promise.all(counters.map((counter) => ledgerSum(rooms, counter)));
    const tookMs = performance.now() - beganMs;
    const areExact = counters.every(({ used, leased }, index) => used === sums[index] && leased === 0);
    if (areExact || tookMs > withinMs) return { counters, tookMs };
    await pause(pollMs);
  }
}

/** A counter that Redis does not know, because nobody has used it since it was lost, counts what the ledger says. */
async function readCounters(rooms: TruthRooms): Promise<CounterEvent[]> {
  const all = rooms.organisations.flatMap((organisation) =>
    buckets.map(async (bucket): Promise<CounterEvent> => {
      const counter = { organisationId: organisation.id, bucket, month: monthOf(Date.now()) };
      const [used, leased] = await rooms.redis.hmget(usageKey(counter), 'used', 'leased');
      const common = { kind: 'counter', organisation: organisation.id, bucket } as const;
      return {
        ...common,
        used: typeof used === 'string' ? Number(used) : await ledgerSum(rooms, common),
        leased: Number(leased ?? 0),
        hardStop: organisation.hardStops[bucket],
      };
    }),
  );
  return await Promise.all(all);
}

const ledgerSum = (
  { database }: TruthRooms,
  { organisation, bucket }: Pick<CounterEvent, 'organisation' | 'bucket'>,
): Promise<number> =>
  new UsageLedger(database).sum({ organisationId: organisation, bucket, month: monthOf(Date.now()) });

/** Every row of the ledger with the number of its predictions, and the number of predictions that belong to no row. */
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

/** The `_id` of a slice of predictions is that of its call, with a dot and the number of its first row but for the first. */
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
