import { setTimeout as pause } from 'node:timers/promises';
import { type ClientSession, MongoServerError } from 'mongodb';
import type { Db } from '../../shared/store/connect.js';

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
