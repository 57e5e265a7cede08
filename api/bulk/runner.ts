import { type Repeated, repeatEvery } from '../../shared/async/repeat.js';
import { requestComparison } from '../../shared/messages/grading-job.js';
import { type TurnQueue, turnQueues } from '../../shared/messages/turn-queue.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import type { Logger } from '../../shared/process/logger.js';
import { markBulkDemand } from '../../shared/redis/bulk-demand.js';
import type { Redis } from '../../shared/redis/connect.js';
import { type Job, needsBulkWorkers } from '../../shared/store/jobs/job-documents.js';
import type { JobStore } from '../../shared/store/jobs/jobs.js';
import { type CandidateTurnDeps, CandidateTurns } from './candidates/candidate-turns.js';
import { type FollowCandidatesDeps, followCandidates } from './candidates/follow-candidates.js';
import { type ReadJobDeps, readJob } from './read-job.js';
import { readStored } from './reading/read-stored.js';
import { cancelAbandoned, type ResumeDeps, resumeJobs, settleCanceled } from './resume-jobs.js';
import { JobRound } from './turns/job-round.js';
import { type JobTurnDeps, JobTurns } from './turns/job-turn.js';
import { startTurns } from './turns/turns.js';

export interface RunnerDeps
  extends JobTurnDeps,
    Omit<ReadJobDeps, 'onRunning'>,
    ResumeDeps,
    Omit<CandidateTurnDeps, 'jobs' | 'dispatcher' | 'workspaces' | 'requestComparison'>,
    FollowCandidatesDeps {
  readonly jobs: JobStore;
  /** For commands, and for BullMQ's blocking ones. */
  readonly redis: {
    readonly commands: Redis;
    readonly scoring: Redis;
    readonly reading: Redis;
    readonly candidates: Redis;
  };
  readonly logger: Logger;
}

/** Jobs whose files this process scores, and organisations whose files it reads, at once. */
const turnsAtOnce = 2;
const readsAtOnce = 2;
/** Runs of candidates at once: each remembers the leads of its model. */
const candidatesAtOnce = 1;
const pollEveryMs = 1_000;
/** Polls that are left out after one that has found nothing: a new file comes by a queue. */
const idlePolls = 2;
const resumeEveryMs = 5_000;
const followEveryMs = 5_000;

/**
 * Runs bulk jobs, and candidates of models behind them. Jobs take turns, see `startTurns`, and organisations share them
 * equally, see `JobRound`. The runner polls MongoDB for jobs, so an emptied Redis loses nothing: every second while
 * there are any, else every three.
 */
export class Runner implements Stoppable {
  readonly name = 'bulk runner';
  private readonly scoring: JobTurns;
  private readonly turns: TurnQueue;
  private readonly reads: TurnQueue;
  private readonly candidates: TurnQueue;
  /** Models whose candidates are to be scored. */
  private withRuns: readonly string[] = [];
  private repeated: readonly Repeated[] = [];
  private readonly failing = new Set<string>();
  private readonly round = new JobRound();
  private turnsTaken = 0;
  private pollsLeftOut = 0;

  constructor(private readonly deps: RunnerDeps) {
    const { redis, logger } = deps;
    this.scoring = new JobTurns(deps);
    const start = (
      kind: keyof typeof turnQueues & keyof RunnerDeps['redis'],
      atOnce: number,
      take: (id: string) => Promise<boolean>,
    ) =>
      startTurns({
        ...{ queue: turnQueues[kind], atOnce, take, logger },
        ...{ commands: redis.commands, blocking: redis[kind] },
      });
    this.turns = start('scoring', turnsAtOnce, (jobId) => this.score(jobId));
    this.reads = start('reading', readsAtOnce, (organisationId) => this.read(organisationId));
    const candidateTurns = new CandidateTurns({
      ...deps,
      requestComparison: (candidate) => requestComparison(redis.commands, candidate),
    });
    this.candidates = start('candidates', candidatesAtOnce, (modelId) => candidateTurns.take(modelId));
  }

  start(): void {
    this.repeated = [
      repeatEvery(pollEveryMs, () => this.noting('poll', () => this.poll())),
      repeatEvery(resumeEveryMs, () => this.noting('resume', () => this.resume())),
      repeatEvery(followEveryMs, () => this.noting('candidates', () => this.follow())),
    ];
  }

  /** Why the runner cannot find jobs now; undefined when it can. */
  get problem(): string | undefined {
    if (this.failing.size === 0) return undefined;
    return 'the runner cannot find bulk jobs: MongoDB or Redis does not answer';
  }

  async stop(): Promise<void> {
    await Promise.all(this.repeated.map((each) => each.stop()));
    await Promise.all([this.turns.stop(), this.reads.stop(), this.candidates.stop()]);
  }

  /** Puts unfinished work into the queues: organisations with files to read, jobs to score, and runs of candidates. */
  private async poll(): Promise<void> {
    if (this.pollsLeftOut > 0 && this.failing.size === 0) {
      this.pollsLeftOut -= 1;
      return;
    }
    const { jobs, redis } = this.deps;
    const found = await jobs.inStates(['reading', 'running']);
    if (found.some(needsBulkWorkers) || this.withRuns.length > 0) await markBulkDemand(redis.commands);
    const ofState = (state: Job['state']) => found.filter((job) => job.state === state);
    await this.reads.add(new Set(ofState('reading').map(({ org }) => org)));
    const running = ofState('running').filter(({ _id }) => !this.scoring.isWaiting(_id));
    const waiting = running.length === 0 ? 0 : await this.turns.waiting();
    await this.turns.add(this.round.choose(running, { hasFreeTurn: this.turnsTaken < turnsAtOnce, waiting }));
    await this.candidates.add(this.withRuns);
    this.pollsLeftOut = found.length === 0 && this.withRuns.length === 0 ? idlePolls : 0;
  }

  private async score(jobId: string): Promise<boolean> {
    this.turnsTaken += 1;
    try {
      return (await this.scoring.take(jobId)) && this.round.mayGoOn(jobId, await this.turns.waiting());
    } finally {
      this.turnsTaken -= 1;
    }
  }

  private async read(organisationId: string): Promise<boolean> {
    const { jobs, redis } = this.deps;
    const [oldest, ...others] = await jobs.readingOf(organisationId);
    const job = oldest === undefined ? undefined : await jobs.findById(oldest);
    if (job?.state === 'reading') {
      // Not awaited: without Redis, the next poll adds the job.
      const onRunning = (file: NonNullable<Job['file']>) => {
        if (needsBulkWorkers({ ...job, file })) markBulkDemand(redis.commands).catch(() => undefined);
        this.turns.add([job._id]).catch(() => undefined);
      };
      const { stored } = job.options;
      if (stored === undefined) await readJob(job, { ...this.deps, onRunning });
      else await readStored(job, stored, { ...this.deps, onRunning });
    }
    return others.length > 0;
  }

  private async follow(): Promise<void> {
    this.withRuns = await followCandidates(this.deps);
  }

  private async resume(): Promise<void> {
    await resumeJobs(this.deps);
    await cancelAbandoned(this.deps);
    await settleCanceled(this.deps);
  }

  /** Logs a failure, and remembers it until the same work succeeds. Never rejects. */
  private async noting(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.failing.delete(name);
    } catch (error) {
      this.failing.add(name);
      this.deps.logger.warn({ error }, 'the poll for bulk jobs failed and is repeated');
    }
  }
}
