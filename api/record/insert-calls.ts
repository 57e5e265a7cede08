import { MongoError, MongoServerError, MongoServerSelectionError } from 'mongodb';
import { Batcher } from '../../shared/async/batcher.js';
import { retry } from '../../shared/async/retry.js';
import { type CallDocument, maxCommandBytes, type WriteReport } from '../../shared/store/calls/call-documents.js';
import { withMongoSignal } from '../../shared/store/connection/connect.js';
import { CommitUnknown } from '../../shared/store/connection/transaction.js';
import type { Deadline } from '../call/scoring-call.js';

/** The size that one call adds to a commit, and its deadline. */
interface CommitSize {
  readonly deadline: Pick<Deadline, 'monotonicMs'>;
  readonly records: number;
  readonly bytes: number;
}

/** An entry of this size gains nothing from sharing a commit. */
const minAloneRecords = 200;
const minAloneBytes = 1024 * 1024;
const maxRecordsPerCommit = 1_000;

const tooLateText = 'the deadline passed before the commit: MongoDB is slow';

/** The deadline of a call passed before its commit began. Nothing was written. */
export class CommitTooLate extends Error {
  override name = 'CommitTooLate';
}

/**
 * Group commit: entries that are ready at about the same time share one commit. A lone entry is committed at once.
 * An entry whose deadline has passed is not committed: its call is answered already.
 * @param commitNow writes entries together. Returns the error of each in order, undefined where it is written
 * @param groupOf only entries with the same group share a commit
 * @returns a function that commits one entry, and rejects with the error of its commit
 */
export function groupCommit<Entry extends CommitSize>(
  commitNow: (entries: readonly Entry[]) => Promise<readonly (Error | undefined)[]>,
  groupOf: (entry: Entry) => string = () => '',
): (entry: Entry) => Promise<void> {
  const commit = async (entries: readonly Entry[]): Promise<readonly (Error | undefined)[]> => {
    const nowMs = performance.now();
    const isLate = ({ deadline }: Entry): boolean => deadline.monotonicMs <= nowMs;
    const inTime = entries.filter((entry) => !isLate(entry));
    const outcomes = inTime.length === 0 ? [] : [...(await commitNow(inTime))];
    return entries.map((entry) => (isLate(entry) ? new CommitTooLate(tooLateText) : outcomes.shift()));
  };
  const commitAlone = async (entry: Entry): Promise<Error | undefined> => (await commit([entry]))[0];
  const batcher = new Batcher<Entry, undefined>({
    gathers: true,
    maxItems: maxRecordsPerCommit,
    sizeOf: ({ records, bytes }) => Math.max(records / maxRecordsPerCommit, bytes / maxCommandBytes),
    run: async (entries) => {
      try {
        return await commit(entries);
      } catch (error) {
        // A commit of unknown outcome must not run again.
        if (entries.length === 1 || error instanceof CommitUnknown) throw error;
        // One caller's conflict must not fail the others.
        return await Promise.all(entries.map((entry) => commitAlone(entry).catch(asError)));
      }
    },
  });
  return async (entry) => {
    if (entry.records < minAloneRecords && entry.bytes < minAloneBytes) return await batcher.add(groupOf(entry), entry);
    const failure = await commitAlone(entry);
    if (failure !== undefined) throw failure;
  };
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

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
 * BSONObjectTooLarge. With other codes the document may be written: a mongos lists the errors of its connections to
 * shards.
 */
const refusedCodes = new Set([2, 14, 121, 10_334]);
const backOff = { firstDelayMs: 5, maxDelayMs: 100 };

/** A void row stands in place of the document, so the document will never be written. */
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
