import { setTimeout as pause } from 'node:timers/promises';
import { type ClientSession, type Document, Long, MongoServerError } from 'mongodb';
import { callsCollection } from '../../../shared/store/calls/prediction-segment.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { candidateScoresCollection, notSeen } from '../../../shared/store/models/candidate-scores.js';

/** The model version to grade. */
export interface GradedVersion {
  readonly organisationId: string;
  readonly modelId: string;
  readonly version: string;
  /** A conversion counts within this many days after the prediction. */
  readonly horizonDays: number;
  /** Whether what the version scored as a candidate counts like its calls, without leads that it was trained on. */
  readonly countsCandidateScores?: boolean;
}

/** The collections that hold segments of a version, with what a filter of its segments adds. */
export const sourcesOf = ({ countsCandidateScores = false }: GradedVersion) => [
  { find: callsCollection, of: {} },
  ...(countsCandidateScores ? [{ find: candidateScoresCollection, of: notSeen }] : []),
];

/** Reads with this session see the database at one instant, so that their counts are comparable. */
export interface Snapshot {
  readonly database: Db;
  readonly session: ClientSession;
}

/** Key of a version's days and verdicts: `<model>:<version>`. */
export const gradedKey = ({ modelId, version }: GradedVersion): string => `${modelId}:${version}`;

const maxAttempts = 5;
/** A collection or an index was just created. */
const snapshotUnavailable = 246;
const snapshotTooOld = 239;

/**
 * Runs reads in a snapshot session. It retries while MongoDB has no snapshot available.
 * @throws MongoDB errors; if MongoDB has discarded the snapshot, an Error that says which parameter to raise
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
      if (code !== snapshotUnavailable || attempt === maxAttempts) throw error;
      await pause(200);
    } finally {
      await session.endSession();
    }
  }
}

const tooLong =
  'the grade took longer than MongoDB keeps its snapshot (5 minutes by default). Raise the limit with ' +
  'db.adminCommand({ setParameter: 1, minSnapshotHistoryWindowInSeconds: 1800 }), and grade again';

/** The `find` command: https://www.mongodb.com/docs/manual/reference/command/find/ */
export interface FindCommand {
  readonly find: string;
  readonly filter: Document;
  readonly projection: Document;
  readonly hint?: Document;
}

/** Limits of a batch. Decoding a batch blocks the process. */
export interface BatchSize<Found> {
  /** Documents in the first batch. */
  readonly first: number;
  /** Maximum documents in a batch. */
  readonly max: number;
  /** Target number of records per batch. The previous batch provides the records per document. */
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
 * Runs a `find` command and yields one batch at a time. The driver's cursors decode each document separately, which
 * takes several times as long for small documents.
 * @throws MongoDB errors
 */
export async function* readInBatches<Found>(
  { database, session }: Snapshot,
  command: FindCommand,
  { first, max, records, recordsOf }: BatchSize<Found>,
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
      const batchSize = Math.min(max, Math.max(1, Math.round(records / Math.max(1, perDocument))));
      cursor = await run({ getMore: asLong(cursor.id), collection: command.find, batchSize });
    }
  } finally {
    if (!isAtEnd(cursor.id))
      // Without the session: `killCursors` does not support snapshot reads.
      await database.command({ killCursors: command.find, cursors: [asLong(cursor.id)] }).catch(() => undefined);
  }
}

const isAtEnd = (cursorId: Long | number): boolean => cursorId.toString() === '0';

/** The driver decodes about one id in a thousand as a number, and would send it back as a double. */
const asLong = (cursorId: Long | number): Long => (typeof cursorId === 'number' ? Long.fromNumber(cursorId) : cursorId);

/** An id may take 1 kB, and one command 16 MB. */
const maxLeadsPerCommand = 5_000;

/** Splits crm_ids into batches for one command each. */
export function* leadBatches(leads: Iterable<string>): Generator<readonly string[]> {
  const crmIds = [...leads];
  for (let start = 0; start < crmIds.length; start += maxLeadsPerCommand)
    yield crmIds.slice(start, start + maxLeadsPerCommand);
}
