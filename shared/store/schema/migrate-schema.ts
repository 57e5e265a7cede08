import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { type Document, MongoServerError } from 'mongodb';
import { randomBase62 } from '../../contract/identifiers.js';
import { ownRelease } from '../../process/release.js';
import { type Db, duplicateKey } from '../connection/connect.js';
import { isEmptyDatabase, readSchemaState, type SchemaRun, schemaStates } from './schema-state.js';
import { type SchemaStep, schemaSteps } from './schema-steps.js';

export interface MigrateOptions {
  /** Whether the database was empty a moment ago. Another process may have made its first collection since. */
  readonly isNew?: boolean;
  /** Runs all steps once more, for example to create an index that someone dropped. */
  readonly again?: boolean;
  /** Called when a step begins. */
  readonly onStep?: (step: SchemaStep) => void;
  /** Called each second while another run is under way. */
  readonly onWait?: (other: SchemaRun) => void;
  /** For tests. */
  readonly steps?: readonly SchemaStep[];
  /** Ms after which a run that was killed no longer keeps others waiting. */
  readonly leaseMs?: number;
}

const majority = { writeConcern: { w: 'majority' } } as const;
const defaultLeaseMs = 30_000;
const askAgainMs = 250;

/**
 * Brings a database to the level of this release: runs each step that it lacks. Only one run at a time works; another
 * one waits for it. A run that was killed may be begun again: it repeats the step that it had not ended.
 * @returns the steps that this run has ended
 * @throws the driver's error; LeaseLost
 */
export async function migrateSchema(database: Db, options: MigrateOptions = {}): Promise<readonly SchemaStep[]> {
  const { again = false, steps = schemaSteps, leaseMs = defaultLeaseMs, onStep, onWait } = options;
  await createState(database, options.isNew);
  const run = { id: randomBase62(16), by: `${hostname()}:${process.pid}` };
  const done: SchemaStep[] = [];
  let askedMs = Number.NEGATIVE_INFINITY;
  for (;;) {
    const state = await readSchemaState(database);
    const wanted = steps.filter(({ level }) => again || level > (state?.at ?? 0));
    if (wanted.length === 0 && state?.is_new !== true) return done;
    if (await takeLease(database, run, leaseMs)) break;
    if (state?.running !== undefined && performance.now() - askedMs > 1_000) {
      askedMs = performance.now();
      onWait?.(state.running);
    }
    await pause(askAgainMs);
  }
  const lease = keepLease(database, run, leaseMs);
  try {
    // Another run may have ended between the read above and the lease.
    const from = again ? 0 : ((await readSchemaState(database))?.at ?? 0);
    for (const step of steps.filter(({ level }) => level > from)) {
      onStep?.(step);
      await changeOwn(database, run, { $set: { 'running.step': step.name } });
      await step.run(database);
      lease.check();
      const release = { release: ownRelease() };
      await changeOwn(database, run, { $max: { at: step.level }, $set: release });
      done.push(step);
    }
    await changeOwn(database, run, { $unset: { is_new: 1 } });
    return done;
  } finally {
    lease.end();
    await schemaStates(database)
      .updateOne({ _id: 'schema', 'running.id': run.id }, { $unset: { running: 1 } }, majority)
      // Its time runs out by itself.
      .catch(() => undefined);
  }
}

/** The run was paused for longer than its lease, and another one may work now. */
export class LeaseLost extends Error {
  override name = 'LeaseLost';
  constructor() {
    super('this run was paused for too long, and another one may have taken over. Run the command again');
  }
}

/** Writes the number 0 unless there is one. */
async function createState(database: Db, wasEmpty = false): Promise<void> {
  if ((await readSchemaState(database)) !== undefined) return;
  const isNew = wasEmpty || (await isEmptyDatabase(database)) ? { is_new: true as const } : {};
  const first = { _id: 'schema' as const, at: 0, usable_from: 0, release: ownRelease(), ...isNew };
  await schemaStates(database)
    .insertOne(first, majority)
    .catch((error: unknown) => {
      // Another process was faster.
      if (!(error instanceof MongoServerError && error.code === duplicateKey)) throw error;
    });
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
