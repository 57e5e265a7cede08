import { Batcher } from '../../shared/async/batcher.js';
import { maxCommandBytes } from '../../shared/store/calls/call-documents.js';
import { CommitUnknown } from '../../shared/store/connection/transaction.js';
import type { Deadline } from '../scoring/scoring-call.js';

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

/**
 * Group commit: entries that are ready at about the same time share one commit. A lone entry is committed at once.
 * An entry whose deadline has passed is not committed: its call is answered already.
 * @param commitNow writes entries together. Returns the error of each in order, undefined where it is written
 * @returns a function that commits one entry, and rejects with the error of its commit
 */
export function groupCommit<Entry extends CommitSize>(
  commitNow: (entries: readonly Entry[]) => Promise<readonly (Error | undefined)[]>,
): (entry: Entry) => Promise<void> {
  const commit = async (entries: readonly Entry[]): Promise<readonly (Error | undefined)[]> => {
    const nowMs = performance.now();
    const isLate = ({ deadline }: Entry): boolean => deadline.monotonicMs <= nowMs;
    const inTime = entries.filter((entry) => !isLate(entry));
    const outcomes = inTime.length === 0 ? [] : [...(await commitNow(inTime))];
    const late = new Error('the deadline passed before the commit: MongoDB is slow');
    return entries.map((entry) => (isLate(entry) ? late : outcomes.shift()));
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
    if (entry.records < minAloneRecords && entry.bytes < minAloneBytes) return await batcher.add('', entry);
    const failure = await commitAlone(entry);
    if (failure !== undefined) throw failure;
  };
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
