import { setTimeout as wait } from 'node:timers/promises';
import { MongoError, MongoServerError, MongoServerSelectionError } from 'mongodb';
import type { CallDocument, WriteReport } from '../../shared/store/calls/call-documents.js';
import { withMongoSignal } from '../../shared/store/connection/mongo-errors.js';
import { CommitUnknown } from './transaction.js';

export interface CallWriting {
  /** Writes documents, each by itself. */
  readonly insertEach: (documents: readonly CallDocument[], signal: AbortSignal) => Promise<WriteReport>;
  /** Which of these calls have a row that is not void. */
  readonly recordedCalls: (callIds: readonly string[]) => Promise<ReadonlySet<string>>;
}

/** The server is about to stop, or is not the one that takes writes: InterruptedAtShutdown and its like. */
const comesBack = new Set([91, 189, 10_107, 11_600, 11_602, 13_435, 13_436]);
/** With these it takes up nothing: it is not the one that takes writes, or the command is too large to be read at all. */
const nothingDone = new Set([10_107, 13_435, 10_334]);
const firstDelayMs = 5;
const maxDelayMs = 100;

/** A document was not written, since a void row was in its place, and never will be. */
export class CallIsVoid extends Error {
  override name = 'CallIsVoid';
}

/**
 * Writes calls that are one document each, with `w: majority` and without a transaction; again for as long as MongoDB does
 * not say what became of them and there is time. A document that is there already is the same one, written by an attempt
 * whose answer was lost, or a void row.
 * @param documents no more than one command can hold; `GroupCommit` sees to that
 * @returns of each, in order, what it was refused with; undefined where it stands
 * @throws CommitUnknown when nobody knows whether they were written; otherwise what MongoDB says, and none was
 */
export async function insertCalls(
  { insertEach, recordedCalls }: CallWriting,
  documents: readonly CallDocument[],
  { timeoutMs }: { readonly timeoutMs: number },
): Promise<(Error | undefined)[]> {
  const signal = AbortSignal.timeout(timeoutMs);
  let mayBeWritten = false;
  for (let delayMs = firstDelayMs; ; delayMs = Math.min(2 * delayMs, maxDelayMs)) {
    try {
      const report = await withMongoSignal(signal, insertEach(documents, signal));
      mayBeWritten = true;
      if (report.isConfirmed)
        return await withMongoSignal(signal, outcomes(documents, report, recordedCalls));
    } catch (cause) {
      if (signal.aborted) throw new CommitUnknown('the calls were not confirmed in time', { cause });
      mayBeWritten ||= !saysNothingDone(cause);
      if (!isWorthAnotherTry(cause))
        throw mayBeWritten ? new CommitUnknown('the calls were not confirmed', { cause }) : cause;
    }
    await wait(delayMs);
  }
}

async function outcomes(
  documents: readonly CallDocument[],
  { duplicates, refused }: WriteReport,
  recordedCalls: CallWriting['recordedCalls'],
): Promise<(Error | undefined)[]> {
  const found = documents.map((_, index) => refused.get(index));
  if (duplicates.length === 0) return found;
  const callIdAt = (index: number): string => documents[index]?._id ?? '';
  const recorded = await recordedCalls(duplicates.map(callIdAt));
  for (const index of duplicates)
    if (!recorded.has(callIdAt(index))) found[index] = new CallIsVoid('the call was taken back meanwhile');
  return found;
}

/** Whether an attempt that failed has certainly written nothing. */
function saysNothingDone(error: unknown): boolean {
  if (error instanceof MongoServerError) return nothingDone.has(Number(error.code));
  return error instanceof MongoServerSelectionError || !(error instanceof MongoError);
}

function isWorthAnotherTry(error: unknown): boolean {
  if (error instanceof MongoServerError) return comesBack.has(Number(error.code));
  return error instanceof MongoError;
}
