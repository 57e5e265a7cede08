import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Document } from 'mongodb';
import { randomBase62 } from '../../contract/identifiers.js';
import type { Db } from '../connection/connect.js';
import { readSchemaState, type SchemaRun, type SchemaState, schemaStates } from './schema-state.js';

export interface RunOptions {
  /** Called each second while another run is under way. */
  readonly onWait?: ((other: SchemaRun) => void) | undefined;
  /** Ms after which a run that was killed no longer keeps others waiting. */
  readonly leaseMs?: number | undefined;
}

/** A run of steps that has the lease. */
export interface LeasedRun {
  /** @throws LeaseLost when another run has taken over */
  change(update: Document): Promise<void>;
  /** @throws LeaseLost */
  check(): void;
}

const defaultLeaseMs = 30_000;
const askAgainMs = 250;

/**
 * Does work on the schema under its lease. Another run waits for it, and looks again afterwards.
 * @param isDone whether nothing is left to do. It is asked before each attempt
 * @returns undefined when nothing is left to do
 * @throws the error of the work; the driver's error; LeaseLost
 */
export async function underLease<Result>(
  database: Db,
  isDone: (state: SchemaState | undefined) => boolean,
  work: (run: LeasedRun) => Promise<Result>,
  { onWait, leaseMs = defaultLeaseMs }: RunOptions,
): Promise<Result | undefined> {
  const run = { id: randomBase62(16), by: `${hostname()}:${process.pid}` };
  let askedMs = Number.NEGATIVE_INFINITY;
  for (;;) {
    const state = await readSchemaState(database);
    if (isDone(state)) return undefined;
    if (await takeLease(database, run, leaseMs)) break;
    if (state?.running !== undefined && performance.now() - askedMs > 1_000) {
      askedMs = performance.now();
      onWait?.(state.running);
    }
    await pause(askAgainMs);
  }
  const lease = keepLease(database, run, leaseMs);
  try {
    return await work({ change: (update) => changeOwn(database, run, update), check: lease.check });
  } finally {
    lease.end();
    await schemaStates(database)
      .updateOne({ _id: 'schema', 'running.id': run.id }, { $unset: { running: 1 } }, majority)
      // Its time runs out by itself.
      .catch(() => undefined);
  }
}

const majority = { writeConcern: { w: 'majority' } } as const;

/** The run was paused for longer than its lease, and another one may work now. */
export class LeaseLost extends Error {
  override name = 'LeaseLost';
  constructor() {
    super('this run was paused for too long, and another one may have taken over. Run the command again');
  }
}

/** By MongoDB's clock, so that two machines agree about the end of a lease. */
const leaseEnd = (leaseMs: number): Document => ({ $add: ['$$NOW', leaseMs] });

async function takeLease(database: Db, run: Pick<SchemaRun, 'id' | 'by'>, leaseMs: number): Promise<boolean> {
  const isFree = { $or: [{ running: { $exists: false } }, { $expr: { $lt: ['$running.until', '$$NOW'] } }] };
  const running = { id: run.id, by: run.by, until: leaseEnd(leaseMs) };
  // `$unset` first: `$set` keeps the members of an object that it does not name.
  const update = [{ $unset: 'running' }, { $set: { running } }];
  const { matchedCount } = await schemaStates(database).updateOne({ _id: 'schema', ...isFree }, update, majority);
  return matchedCount === 1;
}

interface Lease {
  /** @throws LeaseLost */
  check(): void;
  end(): void;
}

/** Renews a lease, also while a step takes minutes. */
function keepLease(database: Db, { id }: Pick<SchemaRun, 'id'>, leaseMs: number): Lease {
  let isLost = false;
  const renew = async (): Promise<void> => {
    const update = [{ $set: { 'running.until': leaseEnd(leaseMs) } }];
    const { matchedCount } = await schemaStates(database).updateOne({ _id: 'schema', 'running.id': id }, update);
    isLost ||= matchedCount === 0;
  };
  // A renewal that fails is repeated; without any, the lease ends and the next write of this run fails.
  const timer = setInterval(() => void renew().catch(() => undefined), leaseMs / 3);
  return {
    check: () => {
      if (isLost) throw new LeaseLost();
    },
    end: () => clearInterval(timer),
  };
}

/** @throws LeaseLost when another run has taken over */
async function changeOwn(database: Db, { id }: Pick<SchemaRun, 'id'>, update: Document): Promise<void> {
  const { matchedCount } = await schemaStates(database).updateOne(
    { _id: 'schema', 'running.id': id },
    update,
    majority,
  );
  if (matchedCount === 0) throw new LeaseLost();
}
