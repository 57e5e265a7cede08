import { setTimeout as pause } from 'node:timers/promises';
import type { Collection } from 'mongodb';
import { settledOrThrow } from '../../../shared/async/timeouts.js';
import { momentOf } from '../../../shared/bundle/manifest/moment.js';
import type { Clock } from '../../../shared/contract/dates.js';
import type { Logger } from '../../../shared/process/logger.js';
import { callsCollection, type PredictionSegment } from '../../../shared/store/calls/prediction-segment.js';
import { amongIds, type Db } from '../../../shared/store/connection/connect.js';
import type { JobStore } from '../../../shared/store/jobs/jobs.js';
import { type CandidateRun, CandidateRunStore, type RunCounts } from '../../../shared/store/models/candidate-runs.js';
import { CandidateScoreStore, type CandidateSegment } from '../../../shared/store/models/candidate-scores.js';
import { SliceWindow, type WindowQueues } from '../turns/slice-window.js';
import { type FirstRows, firstRows, stepsOf } from './first-rows.js';
import { type RecordedSegment, type RescoreDeps, type RescoredStep, type RunScope, rescore } from './rescore.js';
import { afterFailure, checkRefused, maxRunRows, RunFailure, tooManyRows } from './run-failure.js';

interface ComparedVersion {
  readonly modelId: string;
  readonly version: string;
  readonly base: string;
}

export interface CandidateTurnDeps extends RescoreDeps {
  readonly database: Db;
  readonly jobs: Pick<JobStore, 'countInState'>;
  readonly queues: WindowQueues;
  /** Asks for the grade of a candidate, and its comparison with the base. */
  readonly requestComparison: (candidate: ComparedVersion) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborted when the process stops. Another one goes on. */
  readonly stopping: AbortSignal;
}

/** A run that waits for bulk jobs, or for worker processes, looks again after this time. */
const waitMs = 1_000;

/**
 * Takes the turns of candidates' runs. A turn is all that is left of a run, because the known leads are in memory.
 *
 * 1. Counts the leads.
 * 2. Reads as many steps of a thousand rows as the window has room for, and scores them at once.
 * 3. Stores their scores, then moves the cursor. A run that was killed repeats these steps with the same result.
 * 4. Asks for the grade of the candidate, and its comparison.
 *
 * Steps make way for singles and batches as slices do. None begins while a bulk job runs.
 */
export class CandidateTurns {
  private readonly runs: CandidateRunStore;
  private readonly scores: CandidateScoreStore;
  private readonly segments: Collection<PredictionSegment>;
  private readonly window: SliceWindow;

  constructor(private readonly deps: CandidateTurnDeps) {
    this.runs = new CandidateRunStore(deps.database);
    this.scores = new CandidateScoreStore(deps.database);
    this.segments = deps.database.collection<PredictionSegment>(callsCollection);
    this.window = new SliceWindow(deps.queues);
  }

  /**
   * Goes on with the run of a model until it ends, begins again elsewhere, or the process stops.
   * @returns false: the run needs no further turn
   * @throws errors of MongoDB and Redis, after which another turn goes on
   */
  async take(modelId: string): Promise<boolean> {
    const { logger, clock, stopping } = this.deps;
    const run = await this.runs.runningOf(modelId);
    if (run === undefined) return false;
    try {
      if (!(await this.go(run))) return false;
      logger.info({ model: modelId, version: run.version }, 'run of a candidate completed');
      // Without Redis the grader finds the run within 15 minutes.
      const { version, base } = run;
      await this.deps.requestComparison({ modelId, version, base }).catch(() => undefined);
    } catch (error) {
      if (stopping.aborted) return false;
      if (!(error instanceof RunFailure)) throw error;
      logger.warn({ model: modelId, version: run.version, error }, 'run of a candidate failed');
      await this.fail(run, error.message, new Date(clock.now()));
    }
    return false;
  }

  /** The cursor may have moved since the run was read. */
  private async fail(
    { model, version, started_at: startedAt }: CandidateRun,
    message: string,
    at: Date,
  ): Promise<void> {
    const now = await this.runs.find(model, version);
    if (now?.started_at.getTime() === startedAt.getTime()) await this.runs.end(now, at, message);
  }

  /** @returns whether the run is complete */
  private async go(begun: CandidateRun): Promise<boolean> {
    const { clock } = this.deps;
    const counted = begun.total === undefined ? await this.runs.setTotal(begun, await this.count(begun)) : begun;
    const seenUntilMs = await this.seenUntilMs(begun);
    if (counted === undefined) return false;
    let run = counted;
    const steps = stepsOf(firstRows(run, this.readDeps));
    for (let reading = this.nextSteps(steps); ; ) {
      const some = await reading;
      if (some.length === 0) break;
      // While these are scored. A failure shows when they are awaited.
      reading = this.nextSteps(steps);
      reading.catch(() => undefined);
      const after = await this.advance({ run, seenUntilMs }, some);
      if (after === undefined) return false;
      run = after;
    }
    await this.runs.end(run, new Date(clock.now()));
    return true;
  }

  /** As many steps as may be in flight; none at the end. */
  private async nextSteps(steps: AsyncGenerator<readonly FirstRows[]>): Promise<(readonly FirstRows[])[]> {
    const some: (readonly FirstRows[])[] = [];
    while (some.length < this.window.size) {
      const { value, done } = await steps.next();
      if (done === true) break;
      some.push(value);
    }
    return some;
  }

  private async count(run: CandidateRun): Promise<number> {
    let count = 0;
    for await (const { rows } of firstRows(run, this.readDeps)) {
      count += rows.length;
      if (count > maxRunRows) throw tooManyRows();
    }
    return count;
  }

  private get readDeps() {
    const { database, stopping: signal } = this.deps;
    return { database, signal, makeWay: () => this.makeWay() };
  }

  /** The end of the candidate's training data, as its manifest says. */
  private async seenUntilMs({ model, version }: CandidateRun): Promise<number> {
    const compiled = await this.deps.workspaces.manifest(model, version);
    if (compiled === undefined) throw new RunFailure(`Version "${version}" of the model is no longer stored.`);
    const { validation, trained_at: trainedAt } = compiled.manifest;
    return momentOf(validation?.data_until ?? trainedAt)?.lastMs ?? 0;
  }

  /** Waits while a bulk job runs, and until there are worker processes. */
  private async makeWay(): Promise<void> {
    const { jobs, queues, stopping: signal } = this.deps;
    while (queues.workersOf('bulk') === 0 || (await jobs.countInState('running')) > 0)
      await pause(waitMs, undefined, { signal });
    signal.throwIfAborted();
  }

  /**
   * Does some steps, repeatedly if they fail.
   * @returns the run after them; undefined if it has begun again or ended meanwhile
   * @throws RunFailure
   */
  private async advance(scope: RunScope, steps: readonly (readonly FirstRows[])[]): Promise<CandidateRun | undefined> {
    const { stopping: signal, logger } = this.deps;
    for (let failures = 0; ; ) {
      await this.makeWay();
      try {
        return await this.attempt(scope, steps);
      } catch (error) {
        if (signal.aborted) throw error;
        const next = afterFailure(error, failures);
        if (next instanceof RunFailure) throw next;
        logger.warn({ model: scope.run.model, error, ...next }, 'steps of a candidate failed and are tried again');
        failures = next.failures;
        await pause(next.retryInMs, undefined, { signal });
        if (!(await this.runs.isCurrent(scope.run))) return undefined;
      }
    }
  }

  private async attempt(scope: RunScope, steps: readonly (readonly FirstRows[])[]): Promise<CandidateRun | undefined> {
    const { run } = scope;
    const scoring = steps.map((step) => this.window.run(run.model, () => this.score(scope, step)));
    await settledOrThrow(scoring);
    const done = await Promise.all(scoring);
    this.window.endTurn();
    const segments = done.flatMap((step) => step.segments);
    const added = countsOf(done);
    const counts = { rows: run.rows + added.rows, seen: run.seen + added.seen, refused: run.refused + added.refused };
    checkRefused(run, counts, joined(done));
    await this.scores.put(segments);
    await this.eraseAgain(run, segments);
    const lastId = steps.at(-1)?.at(-1)?.segmentId ?? run.from_id;
    const after = await this.runs.advance(run, lastId, added);
    if (after === undefined) await this.removeUnlessBegunAgain(run, segments);
    return after;
  }

  private async score(scope: RunScope, step: readonly FirstRows[]): Promise<RescoredStep> {
    const columns = { version: 1, at: 1, arrived_at: 1, crm_ids: 1, scores: 1, likelihoods: 1, fields: 1 };
    const ids = step.map(({ segmentId }) => segmentId);
    const recorded = await this.segments
      .find({ _id: amongIds(ids), scores: { $exists: true } }, { signal: this.deps.stopping })
      .project<RecordedSegment>(columns)
      .toArray();
    return await rescore(step, new Map(recorded.map((each) => [each._id, each])), scope, this.deps);
  }

  /**
   * Erases leads once more that were erased while they were scored. An erasure changes predictions first, and scores of
   * candidates afterwards. So it finds these scores, or the predictions have lost the lead already.
   */
  private async eraseAgain({ org }: CandidateRun, segments: readonly CandidateSegment[]): Promise<void> {
    if (segments.length === 0) return;
    const idOf = ({ _id, version }: CandidateSegment): string => _id.slice(0, -version.length - 1);
    const read = await this.segments
      .find({ _id: amongIds(segments.map(idOf)) })
      .project<Pick<PredictionSegment, '_id' | 'crm_ids'>>({ crm_ids: 1 })
      .toArray();
    const named = new Map(read.map(({ _id, crm_ids: crmIds }) => [_id, crmIds && new Set(crmIds)]));
    for (const segment of segments) {
      // Without its predictions, the retention has removed the segment, and removes its scores next.
      const still = named.get(idOf(segment));
      for (const crmId of segment.crm_ids)
        if (still?.has(crmId) === false) await this.scores.eraseLead({ organisationId: org, crmId });
    }
  }

  /** The scores of a run that was dropped meanwhile may have been removed before these were stored. */
  private async removeUnlessBegunAgain(run: CandidateRun, segments: readonly CandidateSegment[]): Promise<void> {
    const now = await this.runs.find(run.model, run.version);
    if (now === undefined || now.state === 'dropped') await this.scores.removeSegments(segments.map(({ _id }) => _id));
  }
}

function countsOf(steps: readonly RescoredStep[]): RunCounts {
  const segments = steps.flatMap((step) => step.segments);
  const sum = (some: readonly CandidateSegment[]) => some.reduce((count, { records }) => count + records, 0);
  return {
    rows: sum(segments),
    seen: sum(segments.filter(({ seen }) => seen === true)),
    refused: joined(steps).count,
  };
}

const joined = (steps: readonly RescoredStep[]): RescoredStep['refused'] => ({
  count: steps.reduce((sum, { refused }) => sum + refused.count, 0),
  withoutFields: steps.reduce((sum, { refused }) => sum + refused.withoutFields, 0),
  first: steps.find(({ refused }) => refused.first !== undefined)?.refused.first,
});
