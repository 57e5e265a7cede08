import { setTimeout as pause } from 'node:timers/promises';
import { type ClientSession, type Document, Long, MongoServerError } from 'mongodb';
import type { Db } from '../../../shared/store/connect.js';

/** The version of a model whose predictions are graded. */
export interface GradedVersion {
  readonly organisationId: string;
  readonly modelId: string;
  readonly version: string;
  /** Days after a prediction within which a conversion counts. */
  readonly horizonDays: number;
}

/** Reads that all see the database at one instant, so that what is counted in two ways can be compared. */
export interface Snapshot {
  readonly database: Db;
  readonly session: ClientSession;
}

/** What days and verdicts of a version are kept under: `<model>:<version>`. */
export const gradedKey = ({ modelId, version }: GradedVersion): string => `${modelId}:${version}`;

const tries = 5;
/** A collection or an index was made a moment ago. */
const snapshotUnavailable = 246;
const snapshotTooOld = 239;

/**
 * Runs reads that all see the database at one instant; again when MongoDB cannot give one just then.
 * @throws what MongoDB says; where it has given up the instant meanwhile, what to do about that
 */
export async function inSnapshot<Result>(
  database: Db,
  read: (session: ClientSession) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    const session = database.client.startSession({ snapshot: true });
    try {
      return await read(session);
    } catch (error) {
      const code = error instanceof MongoServerError ? error.code : undefined;
      if (code === snapshotTooOld) throw new Error(tooLong, { cause: error });
      if (code !== snapshotUnavailable || attempt === tries) throw error;
      await pause(200);
    } finally {
      await session.endSession();
    }
  }
}

const tooLong =
  'the grade took longer than MongoDB keeps what it reads (5 minutes by default): let it keep that longer, with ' +
  'db.adminCommand({ setParameter: 1, minSnapshotHistoryWindowInSeconds: 1800 }), and grade again';

/** The `find` command: https://www.mongodb.com/docs/manual/reference/command/find/ */
export interface FindCommand {
  readonly find: string;
  readonly filter: Document;
  readonly projection: Document;
  readonly hint?: Document;
}

/** How much a reply brings: it is decoded in one go, and whatever else the process does waits meanwhile. */
export interface ReplySize<Found> {
  /** Documents in the first reply. */
  readonly first: number;
  /** Documents in any. */
  readonly most: number;
  /** Records that a reply is to hold, by those of the one before; with `recordsOf` a document's. */
  readonly records: number;
  readonly recordsOf: (found: Found) => number;
}

interface Reply<Found> {
  readonly cursor: {
    readonly id: Long | number;
    readonly firstBatch?: readonly Found[];
    readonly nextBatch?: readonly Found[];
  };
}

/**
 * Reads what a command finds, a reply at a time. The driver's own cursors decode each document by itself, which of small
 * ones takes several times as long as decoding the reply that they come in.
 * @throws what MongoDB says
 */
export async function* inReplies<Found>(
  { database, session }: Snapshot,
  command: FindCommand,
  { first, most, records, recordsOf }: ReplySize<Found>,
): AsyncGenerator<readonly Found[]> {
  const run = async (cursorCommand: Document): Promise<Reply<Found>['cursor']> =>
    ((await database.command(cursorCommand, { session })) as Reply<Found>).cursor;
  let cursor = await run({ ...command, batchSize: first });
  try {
    for (;;) {
      const found = cursor.firstBatch ?? cursor.nextBatch ?? [];
      if (found.length > 0) yield found;
      if (isAtEnd(cursor.id)) return;
      const perDocument = found.reduce((sum, each) => sum + recordsOf(each), 0) / Math.max(1, found.length);
      const batchSize = Math.min(most, Math.max(1, Math.round(records / Math.max(1, perDocument))));
      cursor = await run({ getMore: asLong(cursor.id), collection: command.find, batchSize });
    }
  } finally {
    if (!isAtEnd(cursor.id))
      // Without the session, whose snapshot this command does not know.
      await database
        .command({ killCursors: command.find, cursors: [asLong(cursor.id)] })
        .catch(() => undefined);
  }
}

const isAtEnd = (cursorId: Long | number): boolean => cursorId.toString() === '0';

/** The driver makes numbers of those that fit into one, one id in a thousand, and would send them as doubles. */
const asLong = (cursorId: Long | number): Long =>
  typeof cursorId === 'number' ? Long.fromNumber(cursorId) : cursorId;

/** They go into one command, of at most 16 MB; an id may have a kilobyte. */
const leadsAtOnce = 5_000;

/** Leads by crm_id, as many at a time as are asked for in one command. */
export function* leadBatches(leads: Iterable<string>): Generator<readonly string[]> {
  const crmIds = [...leads];
  for (let start = 0; start < crmIds.length; start += leadsAtOnce)
    yield crmIds.slice(start, start + leadsAtOnce);
}
