import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../../shared/contract/dates.js';
import type { Logger } from '../../../shared/process/logger.js';
import type { Redis } from '../../../shared/redis/connect.js';
import { OrganisationStore } from '../../../shared/store/accounts/organisations.js';
import { callsCollection } from '../../../shared/store/calls/prediction-segment.js';
import { ledgerIndex } from '../../../shared/store/calls/usage-rollups.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { removeUnfinishedImports } from '../../../shared/store/models/store-version.js';
import {
  type Deletion,
  DeletionStore,
  isRemoval,
  type MonthRecords,
  type Removal,
} from '../../../shared/store/organisations/deletions.js';
import { type DataOwner, dataParts } from '../../../shared/store/organisations/organisation-data.js';
import { ownIds } from '../../../shared/store/organisations/own-ids.js';
import { removeFromRedis } from './redis-data.js';

/** The timings of production. */
export const removalTimings = {
  runMs: 2_000, // removals without a pause
  pauseMs: 500, // leaves MongoDB to others between two runs
  maxJobMs: 45_000, // the next job, a minute after the start of this one, goes on
};

export interface RemovalOptions {
  readonly database: Db;
  readonly redis: Redis;
  readonly clock: Clock;
  /** No call outlives it. */
  readonly leaseMs: number;
  readonly logger: Pick<Logger, 'info'>;
  readonly timings: Readonly<typeof removalTimings>;
  /** Ends the removal after the step in hand. */
  readonly signal?: AbortSignal;
}

const uploadsAreCompleteAfterMs = 60 * 60 * 1000;

/**
 * Removes the data of organisations whose days are over, in small steps. Each step is noted before it is made, so a
 * removal that was killed goes on where it was, with the same counts.
 *
 * 1. Goes through all parts of the data, in MongoDB, GridFS and Redis.
 * 2. Waits for one lease, and goes through all of them again: a process may have been in the middle of something.
 * 3. Searches all parts. If anything is left, it waits and goes through them once more.
 * 4. Removes the organisation itself, and leaves a receipt.
 *
 * @returns deleted organisations
 * @throws errors of MongoDB and Redis
 */
export async function removeOrganisations(options: RemovalOptions): Promise<number> {
  const { database, clock, timings, signal } = options;
  const endMs = performance.now() + timings.maxJobMs;
  const isOver = (): boolean => signal?.aborted === true || performance.now() > endMs;
  let deleted = 0;
  for (const due of await new DeletionStore(database).due(new Date(clock.now()))) {
    if (isOver()) break;
    if (await removeOrganisation(due, options, isOver)) deleted += 1;
  }
  return deleted;
}

/** Goes on with one removal. @returns whether it has ended */
async function removeOrganisation(due: Deletion, options: RemovalOptions, isOver: () => boolean): Promise<boolean> {
  const { database, clock, leaseMs } = options;
  const store = new DeletionStore(database);
  let removal = isRemoval(due) ? due : await begin(due, options);
  while (removal !== undefined && removal.work.begins_at.getTime() <= clock.now()) {
    removal = await passThrough(removal, options, isOver);
    if (removal === undefined) return false;
    const { pass, ids } = removal.work;
    const owner = { organisationId: removal._id, ids };
    const wasInRedis = await removeFromRedis(options.redis, owner);
    await removeUnfinishedImports(database, new Date(clock.now() - uploadsAreCompleteAfterMs));
    if (pass > 1 && wasInRedis === 0 && (await isGone(database, owner))) return await end(removal, options);
    const now = await ownIds(database, removal._id);
    removal = await store.nextPass(removal, new Date(clock.now() + leaseMs), now);
  }
  return false;
}

/** Notes what the organisation has and what it used, before the first removal. */
async function begin({ _id }: Deletion, { database, clock }: RemovalOptions): Promise<Removal | undefined> {
  const [records, ids] = await Promise.all([recordsByMonth(database, _id), ownIds(database, _id)]);
  return await new DeletionStore(database).begin(_id, { at: new Date(clock.now()), records, ids });
}

/** The records of the ledger, from its index alone. */
async function recordsByMonth(database: Db, org: string): Promise<MonthRecords[]> {
  const of = (bucket: string) => ({ $sum: { $cond: [{ $eq: ['$bucket', bucket] }, '$records', 0] } });
  const stages = [
    { $match: { org, bucket: { $exists: true } } },
    { $group: { _id: '$month', live: of('live'), test: of('test') } },
    { $sort: { _id: 1 } },
  ];
  const found = database
    .collection(callsCollection)
    .aggregate<Omit<MonthRecords, 'month'> & { readonly _id: string }>(stages, { hint: ledgerIndex });
  return (await found.toArray()).map(({ _id: month, ...records }) => ({ month, ...records }));
}

/** Goes through the rest of a pass. @returns undefined when the time is over, or another process is at work */
async function passThrough(
  begun: Removal,
  { database, timings, signal }: RemovalOptions,
  isOver: () => boolean,
): Promise<Removal | undefined> {
  const store = new DeletionStore(database);
  let removal = begun;
  const { ids, part: from, batch: noted } = removal.work;
  const parts = dataParts(database, { organisationId: removal._id, ids });
  const first = Math.max(
    0,
    parts.findIndex(({ name }) => name === from),
  );
  let runEndMs = performance.now() + timings.runMs;
  for (const part of parts.slice(first)) {
    for (let batch = part.name === from ? (noted ?? []) : []; ; ) {
      if (batch.length > 0) await part.remove(batch);
      if (isOver()) return undefined;
      if (performance.now() > runEndMs) {
        await pause(timings.pauseMs, undefined, { signal }).catch(() => undefined);
        runEndMs = performance.now() + timings.runMs;
      }
      batch = await part.find(part.perStep);
      if (batch.length === 0) break;
      const after = await store.noteBatch(removal, { part: part.name, batch, isCounted: part.isCounted });
      if (after === undefined) return undefined;
      removal = after;
    }
  }
  return removal;
}

/** Whether a search of all parts finds nothing. */
async function isGone(database: Db, owner: DataOwner): Promise<boolean> {
  for (const part of dataParts(database, owner)) if ((await part.count()) > 0) return false;
  return true;
}

/** Removes the organisation itself, and leaves the receipt. */
async function end(removal: Removal, { database, clock, logger }: RemovalOptions): Promise<boolean> {
  await new OrganisationStore(database).remove(removal._id);
  const isEnded = await new DeletionStore(database).end(removal, new Date(clock.now()));
  if (isEnded) logger.info({ organisation: removal._id }, 'organisation deleted');
  return isEnded;
}
