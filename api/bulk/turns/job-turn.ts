import { eachAtOnce } from '../../../shared/async/at-once.js';
import { ApiError } from '../../../shared/contract/errors.js';
import type { Logger } from '../../../shared/process/logger.js';
import type { Job, JobSlice, JobState } from '../../../shared/store/jobs/job-documents.js';
import { SliceTaken } from '../../../shared/store/jobs/job-slices.js';
import type { SliceCounts } from '../metrics.js';
import { pauseFor, retryAgain } from '../pauses.js';
import { type ReadJob, type SliceDeps, scoreSlice } from '../score-slice.js';
import { type CompleteDeps, completeIfSettled, type SettleDeps, settlePrefix } from '../settle-prefix.js';
import { ReserveOrder, type ReserveTicket, SliceDeferred } from './reserve-order.js';
import { SliceWindow, type WindowQueues } from './slice-window.js';

export interface JobTurnDeps extends Omit<SliceDeps, 'window'>, SettleDeps, CompleteDeps {
  readonly queues: WindowQueues;
  readonly counts: SliceCounts;
  readonly logger: Logger;
  /** Aborted when the process stops: no further slice begins. */
  readonly stopping: AbortSignal;
}

/**
 * One turn is this many windows of slices, and begins none after this time. Between two turns the workers are idle. The
 * default window has four slices.
 */
const windowsPerTurn = 4;
const turnMs = 3_000;

/** Delays of the failures of jobs in a row: a failed slice is tried again after 1 s to 1 min. */
interface Failures {
  readonly count: number;
  /** On the clock of `performance.now()`. */
  readonly retryMs: number;
}

/** Takes turns of jobs that are `running`. */
export class JobTurns {
  /** Jobs whose last slice failed. */
  private readonly failures = new Map<string, Failures>();
  private readonly window: SliceWindow;
  private readonly sliceDeps: SliceDeps;

  constructor(private readonly deps: JobTurnDeps) {
    this.window = new SliceWindow(deps.queues);
    this.sliceDeps = { ...deps, window: this.window };
  }

  /**
   * Takes a turn of a job: scores some slices, shows what is finished, and ends or pauses the job when it is due.
   * @returns whether the job can use another turn at once
   * @throws errors of MongoDB and Redis
   */
  async take(jobId: string): Promise<boolean> {
    const { jobs, stopping } = this.deps;
    const job = await jobs.findById(jobId);
    if (!isRunning(job)) {
      this.failures.delete(jobId);
      return false;
    }
    if (this.isWaiting(jobId)) return false;
    const ended = new Set<string>();
    const failed = await this.scoreSome(job, ended);
    const settled = await settlePrefix(job, ended, this.deps);
    if (await completeIfSettled(job, settled, this.deps)) {
      this.failures.delete(jobId);
      return false;
    }
    if (failed !== undefined) return await this.afterFailure(job, failed);
    this.failures.delete(jobId);
    if (hasTooManyErrors(job, settled.failed)) {
      await pauseFor(job, tooManyErrors(settled.failed, job.options.max_errors), this.deps);
      return false;
    }
    return ended.size > 0 && !stopping.aborted;
  }

  /** Whether a job waits before its next attempt. */
  isWaiting(jobId: string): boolean {
    return (this.failures.get(jobId)?.retryMs ?? 0) > performance.now();
  }

  /**
   * Scores open slices.
   * @param ended gets the ids of slices that were scored and recorded
   * @returns the first failure
   */
  private async scoreSome(job: ReadJob, ended: Set<string>): Promise<unknown> {
    const { slices, stopping, jobs } = this.deps;
    const endMs = performance.now() + turnMs;
    const limit = windowsPerTurn * this.window.max;
    const open = await slices.list(job._id, { from: job.settled.slices, limit, state: 'open' });
    let failed: unknown;
    let failedRows = job.settled.failed;
    const order = new ReserveOrder();
    const score = async (slice: JobSlice): Promise<void> => {
      const ticket = order.next();
      let mayFollow = false;
      try {
        mayFollow = await this.window.run(job._id, () => scoreWith(slice, ticket));
      } finally {
        ticket.end(mayFollow);
      }
    };
    /** @returns whether the slices after it may be reserved */
    const scoreWith = async (slice: JobSlice, ticket: ReserveTicket): Promise<boolean> => {
      if (failed !== undefined || stopping.aborted || performance.now() > endMs) return false;
      if (hasTooManyErrors(job, failedRows)) return false;
      // A pause or a cancellation takes effect before the next slice.
      if ((await jobs.stateOf(job._id)) !== runningState) return false;
      try {
        // Not in one expression: the count before would be read before the wait.
        const outcome = await scoreSlice(job, slice, ticket, this.sliceDeps);
        failedRows += outcome.failed;
        this.deps.counts.finished(outcome);
        ended.add(slice._id);
        return true;
      } catch (error) {
        if (isTaken(error)) return true;
        if (error instanceof SliceDeferred || (await this.isGone(job))) return false;
        this.deps.counts.failed();
        failed ??= error;
        return false;
      }
    };
    await eachAtOnce(open, limit, score);
    this.window.endTurn();
    return failed;
  }

  /** Whether a job was canceled or removed, and its file with it: slices in flight then fail. */
  private async isGone({ _id: jobId }: ReadJob): Promise<boolean> {
    const state = await this.deps.jobs.stateOf(jobId).catch(() => runningState);
    return state === undefined || state === 'canceled';
  }

  private async afterFailure(job: ReadJob, error: unknown): Promise<boolean> {
    const { logger } = this.deps;
    const outcome = retryAgain(error, this.failures.get(job._id)?.count ?? 0);
    if ('retryInMs' in outcome) {
      const { count, retryInMs } = outcome;
      this.failures.set(job._id, { count, retryMs: performance.now() + retryInMs });
      logger.warn({ job: job._id, error: causeOf(error), count, retryInMs }, 'a slice failed and is tried again');
      return false;
    }
    this.failures.delete(job._id);
    logger.info({ job: job._id, reason: outcome.reason }, 'bulk job paused');
    await pauseFor(job, outcome, this.deps);
    return false;
  }
}

const runningState: JobState = 'running';

const isRunning = (job: Job | undefined): job is ReadJob => job?.state === runningState && job.file !== undefined;

const hasTooManyErrors = ({ options, forgiven_errors: forgiven = 0 }: Job, failedRows: number): boolean =>
  failedRows - forgiven > options.max_errors;

/** The recorder wraps errors of its transaction. */
const isTaken = (error: unknown): boolean =>
  error instanceof SliceTaken || (error instanceof ApiError && error.options.cause instanceof SliceTaken);

const causeOf = (error: unknown): unknown =>
  error instanceof ApiError ? (error.options.cause ?? error.message) : error;

const tooManyErrors = (failed: number, maxErrors: number) =>
  ({
    reason: 'too_many_errors',
    message:
      `${failed} rows could not be scored, and the job allows ${maxErrors}. Read the list of errors, then resume the job, ` +
      'which allows as many again, or cancel it.',
  }) as const;
