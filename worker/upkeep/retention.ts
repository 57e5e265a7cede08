import { setTimeout as pause } from 'node:timers/promises';
import { settledOrThrow } from '../../shared/async/timeouts.js';
import { dayNumber } from '../../shared/contract/dates.js';
import { callIdPrefix } from '../../shared/contract/identifiers.js';
import { expireOldScores } from '../../shared/latest-scores/eviction.js';
import type { Redis } from '../../shared/redis/connect.js';
import { firstKeptId, idsOfOrganisation } from '../../shared/store/calls/prediction-segment.js';
import { PredictionStore } from '../../shared/store/calls/predictions.js';
import { RetentionStore } from '../../shared/store/calls/retention.js';
import { type Db, withMongoTimeout } from '../../shared/store/connection/connect.js';
import { SliceStore } from '../../shared/store/jobs/job-slices.js';
import { JobUploadStore } from '../../shared/store/jobs/job-uploads.js';
import { JobStore } from '../../shared/store/jobs/jobs.js';
import { removeJob } from '../../shared/store/jobs/remove-job.js';
import { CandidateScoreStore } from '../../shared/store/models/candidate-scores.js';

const segmentsPerDelete = 50; // of up to a hundred predictions each
const organisationsAtOnce = 4;

/** The timings of production. */
export const retentionTimings = {
  runMs: 2_000, // removals without a pause
  pauseMs: 500, // leaves MongoDB to others between two runs
  maxJobMs: 45_000, // the next job, a minute after the start of this one, removes the rest
  timeoutMs: 10_000, // of each call to MongoDB: a frozen one must not block the queue
};

export interface RetentionOptions {
  readonly database: Db;
  readonly redis: Redis;
  readonly nowMs: number;
  /** Predictions of today and of this many days before are kept. */
  readonly retentionDays: number;
  readonly timings: Readonly<typeof retentionTimings>;
  /** Ends the removal after the delete that is in flight. */
  readonly signal?: AbortSignal;
}

/**
 * Removes predictions that are past retention, and their scores by candidates, in one pass a day through the
 * organisations, several at once. Then removes their latest scores in Redis. The ledger keeps the counts. Can be run
 * again after any failure.
 * @returns removed segments, of up to a hundred predictions each
 * @throws errors of MongoDB and Redis; MongoTimeout when MongoDB does not answer in time
 */
export async function removeOldPredictions(options: RetentionOptions): Promise<number> {
  const { database, redis, nowMs, retentionDays, timings, signal } = options;
  const endMs = performance.now() + timings.maxJobMs;
  const isOver = (): boolean => signal?.aborted === true || performance.now() > endMs;
  const call = <Result>(work: () => Promise<Result>): Promise<Result> => withMongoTimeout(timings.timeoutMs, work);
  const predictions = new PredictionStore(database);
  const retention = new RetentionStore(database);
  const candidateScores = new CandidateScoreStore(database);
  const keptFromDay = dayNumber(nowMs) - retentionDays;
  const pass = await call(() => retention.removalPass(keptFromDay));
  if (pass === undefined) return 0;
  const { fromDay } = pass;
  let removed = 0;

  /** Removes segments for `runMs`; returns the range that is left. */
  const removeRun = async ({ fromId, beforeId }: IdRange): Promise<IdRange | undefined> => {
    const runEndMs = performance.now() + timings.runMs;
    for (let first = fromId; ; ) {
      const ids = await call(() => predictions.oldest({ fromId: first, beforeId, most: segmentsPerDelete }));
      if (ids.length > 0 && removed === 0) await call(() => retention.keepFrom(keptFromDay));
      await call(() => predictions.remove(ids));
      removed += ids.length;
      if (ids.length < segmentsPerDelete) return undefined;
      first = ids.at(-1) ?? first;
      if (signal?.aborted || performance.now() > runEndMs) return { fromId: first, beforeId };
    }
  };

  for (let { afterId } = pass; ; ) {
    const next = await call(() => predictions.organisationsAfter(afterId, organisationsAtOnce));
    const last = next.at(-1);
    if (last === undefined) break;
    let ranges: IdRange[] = next.map((organisationId) => ({
      fromId: fromDay === undefined ? callIdPrefix(organisationId) : firstKeptId(fromDay, organisationId),
      beforeId: firstKeptId(keptFromDay, organisationId),
    }));
    for (;;) {
      const left: IdRange[] = [];
      const removeSome = async (range: IdRange): Promise<void> => {
        const rest = await removeRun(range);
        if (rest !== undefined) left.push(rest);
      };
      await settledOrThrow(ranges.map(removeSome));
      if (left.length === 0) break;
      if (isOver()) return removed;
      await pause(timings.pauseMs, undefined, { signal }).catch(() => undefined);
      ranges = left;
    }
    // All of them: a run of a candidate may have stored scores of older predictions while these were removed.
    for (const organisationId of next)
      await call(() => candidateScores.removeBefore(organisationId, firstKeptId(keptFromDay, organisationId)));
    afterId = idsOfOrganisation(last).$lt;
    await call(() => retention.storeRemovalPass(keptFromDay, afterId));
    if (isOver()) return removed;
  }
  await expireOldScores(redis, (organisationId) => firstKeptId(keptFromDay, organisationId));
  await call(() => retention.storeRemovalPass(keptFromDay, undefined));
  return removed;
}

/** A range of call ids. */
interface IdRange {
  readonly fromId: string;
  readonly beforeId: string;
}

const jobsPerStep = 20;
const timeoutMs = 30_000; // removing ten thousand slices with their rows takes seconds

/**
 * Removes bulk jobs that are past retention, with all their files. A removal that fails is repeated.
 * @returns removed jobs
 * @throws errors of MongoDB
 */
export async function removeOldJobs({
  database,
  nowMs,
  signal,
}: {
  readonly database: Db;
  readonly nowMs: number;
  readonly signal?: AbortSignal;
}): Promise<number> {
  const jobs = new JobStore(database);
  const stores = { jobs, slices: new SliceStore(database), uploads: new JobUploadStore(database) };
  let removed = 0;
  for (;;) {
    const due = await jobs.due(new Date(nowMs), jobsPerStep);
    for (const { _id } of due) {
      if (signal?.aborted) return removed;
      await withMongoTimeout(timeoutMs, () => removeJob(stores, _id));
      removed += 1;
    }
    if (due.length < jobsPerStep) return removed;
  }
}
