import { setTimeout as pause } from 'node:timers/promises';
import { UnusableServer } from '../../async/retry.js';
import { ownLevel, ownRelease } from '../../process/release.js';
import { type Db, withMongoTimeout } from '../connection/connect.js';

/** The document `schema` in the collection `settings`: which steps this database has gone through. */
export interface SchemaState {
  readonly _id: 'schema';
  /** The level of the last step that has ended; 0 before the first. */
  readonly at: number;
  /** Processes of a lower level cannot use this database. */
  readonly usable_from: number;
  /** The level of the last contract step that has ended. Absent before the first. */
  readonly contracted?: number;
  /** The release that wrote this last. */
  readonly release: string;
  /** Present from the first write to an empty database until its last step has ended. */
  readonly is_new?: true;
  /** A run of the steps. It has ended without a word when `until` has passed. */
  readonly running?: SchemaRun;
}

export interface SchemaRun {
  /** Random, unique to the run. */
  readonly id: string;
  /** Machine and PID. */
  readonly by: string;
  /** The step that runs; absent before the first. */
  readonly step?: string;
  /** By MongoDB's clock. */
  readonly until: Date;
}

const timeoutMs = 5_000;

export const schemaStates = (database: Db) => database.collection<SchemaState>('settings');

/**
 * The state of a database; undefined if it is empty, or if a release before the first number made it.
 * @throws the driver's error, or MongoTimeout
 */
export async function readSchemaState(database: Db): Promise<SchemaState | undefined> {
  const options = { readConcern: 'majority' } as const;
  return (
    (await withMongoTimeout(timeoutMs, (signal) =>
      schemaStates(database).findOne({ _id: 'schema' }, { ...options, signal }),
    )) ?? undefined
  );
}

/** Whether a database has no collection. */
export async function isEmptyDatabase(database: Db): Promise<boolean> {
  return await withMongoTimeout(timeoutMs, async () => {
    const found = await database.listCollections({}, { nameOnly: true }).toArray();
    return found.every(({ name }) => name.startsWith('system.'));
  });
}

/** Another process that begins an empty database has written its number within this time after its first collection. */
const numberedWithinMs = 2_000;
const askAgainMs = 100;

/**
 * The state of a database, read until it is certain. A process that begins an empty one makes the collection first.
 * The number can be read when a majority has confirmed it.
 * @returns undefined if a release before the first number made it
 * @throws the driver's error, or MongoTimeout
 */
export async function certainState(database: Db): Promise<SchemaState | 'empty' | undefined> {
  const endMs = performance.now() + numberedWithinMs;
  for (;;) {
    const state = await readSchemaState(database);
    if (state !== undefined) return state;
    if (await isEmptyDatabase(database)) return 'empty';
    if (performance.now() > endMs) return undefined;
    await pause(askAgainMs);
  }
}

/** Why this release cannot use a database, with what to do. */
export interface SchemaProblem {
  readonly code: 'database_older' | 'database_newer';
  /** A sentence without its full stop. */
  readonly problem: string;
  readonly remedy: string;
}

/**
 * Compares a database with this release.
 * @param state of a database that is not empty; undefined if it has no number
 * @returns undefined if this release can use it
 */
export function schemaProblem(state: SchemaState | undefined): SchemaProblem | undefined {
  if (state !== undefined && state.usable_from > ownLevel)
    return {
      code: 'database_newer',
      problem: `Release ${state.release} has changed the database, and this release (${ownRelease()}) cannot use it`,
      remedy: `Start release ${state.release} or a later one, or restore a backup of before that change.`,
    };
  if (state !== undefined && state.at >= ownLevel) return undefined;
  return {
    code: 'database_older',
    problem:
      `The database has ${state === undefined ? 'no schema number' : `schema ${state.at}`}, and this release ` +
      `(${ownRelease()}) needs schema ${ownLevel}`,
    remedy: 'Run `npx leadscore migrate`. Processes of the release before go on meanwhile.',
  };
}

/**
 * Compares a database with this release before a command reads it. An empty one has no problem.
 * @throws the driver's error, or MongoTimeout
 */
export async function schemaProblemOf(database: Db): Promise<SchemaProblem | undefined> {
  const state = await certainState(database);
  return state === 'empty' || state?.is_new === true ? undefined : schemaProblem(state);
}

/** @throws UnusableServer when this release cannot use the database */
export function requireUsable(state: SchemaState | undefined): void {
  const problem = schemaProblem(state);
  if (problem !== undefined) throw new UnusableServer(`${problem.problem}. ${problem.remedy}`);
}
