import { MongoError, MongoServerError, MongoServerSelectionError } from 'mongodb';
import { retry } from '../../shared/async/retry.js';
import type { CallDocument, WriteReport } from '../../shared/store/calls/call-documents.js';
import { withMongoSignal } from '../../shared/store/connection/mongo-errors.js';
import { CommitUnknown } from '../../shared/store/connection/transaction.js';

export interface CallWriting {
  /** Writes documents independently: one that fails does not stop the others. */
  readonly insertEach: (documents: readonly CallDocument[], signal: AbortSignal) => Promise<WriteReport>;
  /** The calls among these that have a row that is not void. */
  readonly recordedCalls: (callIds: readonly string[]) => Promise<ReadonlySet<string>>;
}

/** The server shuts down or is not the primary: InterruptedAtShutdown and similar codes. */
const retryableCodes = new Set([91, 189, 10_107, 11_600, 11_602, 13_435, 13_436]);
/** With these codes nothing was written: NotWritablePrimary and a command that is too large to be read. */
const nothingWrittenCodes = new Set([10_107, 13_435, 10_334]);
/**
 * With these codes MongoDB refused one document before it wrote it: BadValue, TypeMismatch, DocumentValidationFailure,
 * BSONObjectTooLarge. With other codes the document may be written: a mongos lists the errors of its connections to shards.
 */
const refusedCodes = new Set([2, 14, 121, 10_334]);
const backOff = { firstDelayMs: 5, maxDelayMs: 100 };

/** A void row stands in the place of the document, so the document will never be written. */
export class CallIsVoid extends Error {
  override name = 'CallIsVoid';
}

/** MongoDB answered, but a majority has not confirmed the write. */
class NotConfirmed extends Error {
  override name = 'NotConfirmed';
}

/**
 * Writes calls of one document each with `w: majority` and without a transaction. Repeats while the outcome is unknown
 * and time is left. An existing document is either the same one, from an attempt whose answer was lost, or a void row.
 * @param documents no more than one command takes, see groupCommit
 * @returns in order, the error of each; undefined where it is written; CommitUnknown where it may be
 * @throws CommitUnknown when the outcome is unknown. After any other error none was written
 */
export async function insertCalls(
  { insertEach, recordedCalls }: CallWriting,
  documents: readonly CallDocument[],
  { timeoutMs }: { readonly timeoutMs: number },
): Promise<(Error | undefined)[]> {
  const signal = AbortSignal.timeout(timeoutMs);
  let mayBeWritten = false;
  const insert = async (): Promise<(Error | undefined)[]> => {
    const report = await withMongoSignal(signal, insertEach(documents, signal));
    mayBeWritten = true;
    if (!report.isConfirmed) throw new NotConfirmed('no majority has confirmed the write');
    return await withMongoSignal(signal, outcomes(documents, report, recordedCalls));
  };
  const isRetryable = (error: unknown): boolean => {
    mayBeWritten ||= !isNothingWritten(error);
    return !signal.aborted && (error instanceof NotConfirmed || isTransient(error));
  };
  try {
    return await retry(insert, { ...backOff, isRetryable });
  } catch (cause) {
    if (signal.aborted) throw new CommitUnknown('the calls were not confirmed in time', { cause });
    throw mayBeWritten ? new CommitUnknown('the calls were not confirmed', { cause }) : cause;
  }
}

async function outcomes(
  documents: readonly CallDocument[],
  { duplicates, failed }: WriteReport,
  recordedCalls: CallWriting['recordedCalls'],
): Promise<(Error | undefined)[]> {
  const found: (Error | undefined)[] = documents.map((_, index) => failureOf(failed.get(index)));
  if (duplicates.length === 0) return found;
  const callIdAt = (index: number): string => documents[index]?._id ?? '';
  const recorded = await recordedCalls(duplicates.map(callIdAt));
  for (const index of duplicates)
    if (!recorded.has(callIdAt(index))) found[index] = new CallIsVoid('the call was voided meanwhile');
  return found;
}

function failureOf(error: MongoServerError | undefined): Error | undefined {
  if (error === undefined || refusedCodes.has(Number(error.code))) return error;
  return new CommitUnknown('MongoDB reported an error for the call, which may be written', { cause: error });
}

/** Whether a failed attempt has certainly written nothing. */
function isNothingWritten(error: unknown): boolean {
  if (error instanceof MongoServerError) return nothingWrittenCodes.has(Number(error.code));
  return error instanceof MongoServerSelectionError || !(error instanceof MongoError);
}

function isTransient(error: unknown): boolean {
  if (error instanceof MongoServerError) return retryableCodes.has(Number(error.code));
  return error instanceof MongoError;
}
