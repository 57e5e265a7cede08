import { type Document, Long } from 'mongodb';
import type { Snapshot } from './graded-version.js';

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
