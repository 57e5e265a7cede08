import { type Repeated, repeatEvery } from '../../shared/async/repeat.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import type { Logger } from '../../shared/process/logger.js';
import { markBulkDemand } from '../../shared/redis/bulk-demand.js';
import type { Redis } from '../../shared/redis/connect.js';
import type { Job } from '../../shared/store/jobs/job-documents.js';
import type { JobStore } from '../../shared/store/jobs/jobs.js';
import { type JobTurnDeps, JobTurns } from './job-turn.js';
import { type ReadJobDeps, readJob } from './read-job.js';
import { cancelAbandoned, type ResumeDeps, resumeJobs, settleCanceled } from './resume-jobs.js';
import { startTurns, type Turns } from './turns.js';

export interface RunnerDeps extends JobTurnDeps, Omit<ReadJobDeps, 'onRunning'>, ResumeDeps {
  readonly jobs: JobStore;
  /** For commands, and for BullMQ's blocking ones. */
  readonly redis: { readonly commands: Redis; readonly scoring: Redis; readonly reading: Redis };
  readonly logger: Logger;
}

/** Organisations whose files this process scores, and reads, at once. */
const turnsAtOnce = 2;
const readsAtOnce = 2;
const pollEveryMs = 1_000;
const resumeEveryMs = 5_000;

/**
 * Runs bulk jobs. Organisations take turns, see `startTurns`; a turn serves the oldest job of its organisation that can
 * go on. Every second the runner polls MongoDB for jobs, so an emptied Redis loses nothing.
 */
export class Runner implements Stoppable {
  readonly name = 'bulk runner';
  private readonly scoring: JobTurns;
  private readonly turns: Turns;
  private readonly reads: Turns;
  private repeated: readonly Repeated[] = [];
  private readonly failing = new Set<string>();

  constructor(private readonly deps: RunnerDeps) {
    const { redis, logger } = deps;
    this.scoring = new JobTurns(deps);
    const { commands } = redis;
    this.turns = startTurns({
      queue: 'bulk-turns',
      atOnce: turnsAtOnce,
      take: (organisationId) => this.score(organisationId),
      commands,
      blocking: redis.scoring,
      logger,
    });
    this.reads = startTurns({
      queue: 'bulk-reads',
      atOnce: readsAtOnce,
      take: (organisationId) => this.read(organisationId),
      commands,
      blocking: redis.reading,
      logger,
    });
  }

  start(): void {
    this.repeated = [
      repeatEvery(pollEveryMs, () => this.noting('poll', () => this.poll())),
      repeatEvery(resumeEveryMs, () => this.noting('resume', () => this.resume())),
    ];
  }

  /** Why the runner cannot find jobs now; undefined when it can. */
  get problem(): string | undefined {
    if (this.failing.size === 0) return undefined;
    return 'the runner cannot find bulk jobs: MongoDB or Redis does not answer';
  }

  async stop(): Promise<void> {
    await Promise.all(this.repeated.map((each) => each.stop()));
    await Promise.all([this.turns.stop(), this.reads.stop()]);
  }

  /** Puts the organisations with unfinished jobs into the queues. */
  private async poll(): Promise<void> {
    const { jobs, redis } = this.deps;
    const found = await jobs.inStates(['reading', 'running']);
    const organisationsIn = (state: Job['state']) =>
      new Set(found.filter((job) => job.state === state).map(({ org }) => org));
    if (found.length > 0) await markBulkDemand(redis.commands);
    await this.reads.add(organisationsIn('reading'));
    await this.turns.add(organisationsIn('running'));
  }

  private async score(organisationId: string): Promise<boolean> {
    const running = await this.deps.jobs.idsInState(organisationId, 'running');
    const id = running.find((each) => !this.scoring.isWaiting(each));
    return id !== undefined && (await this.scoring.take(id));
  }

  private async read(organisationId: string): Promise<boolean> {
    const { jobs } = this.deps;
    const [oldest, ...others] = await jobs.idsInState(organisationId, 'reading');
    const job = oldest === undefined ? undefined : await jobs.findById(oldest);
    // Not awaited: without Redis, the next poll adds the organisation.
    const onRunning = () => void this.turns.add([organisationId]).catch(() => undefined);
    if (job?.state === 'reading') await readJob(job, { ...this.deps, onRunning });
    return others.length > 0;
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
