import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { retry } from '../../../shared/async/retry.js';
import { callIdGenerator, jobIdOf } from '../../../shared/contract/identifiers.js';
import { ApiKeyStore } from '../../../shared/store/accounts/api-keys.js';
import { createJob } from '../../../shared/store/jobs/create-job.js';
import { type Job, jobLimits, noTotals } from '../../../shared/store/jobs/job-documents.js';
import { JobUploadStore } from '../../../shared/store/jobs/job-uploads.js';
import { JobStore } from '../../../shared/store/jobs/jobs.js';
import { ModelStore } from '../../../shared/store/models/models.js';
import type { SeededRandom } from '../../leads/seeded-random.js';
import type { ChaosOrganisation } from './organisations.js';
import type { Lead } from './plan-call.js';

export interface ChaosJobsOptions {
  readonly database: Db;
  readonly random: SeededRandom;
  /** The organisation that always has a job. */
  readonly busy: ChaosOrganisation;
  /** The organisation whose one job meets the limit of the month. */
  readonly limited: ChaosOrganisation;
  readonly leads: readonly Lead[];
}

/** A job with what is in its file. */
export interface SentJob {
  readonly jobId: string;
  readonly organisation: string;
  readonly rows: number;
  /** Numbers of rows that cannot be scored, from 1. */
  readonly badRows: ReadonlySet<number>;
}

const sizes = { min: 1_500, max: 3_500 };
const badShare = 0.01;
const badRow = '{"crm_id": "not JSON';
const betweenJobsMs = 1_000;
const pollMs = 500;
const newCallId = callIdGenerator();
/** MongoDB is away for seconds at a time. */
const patience = { firstDelayMs: 200, maxDelayMs: 2_000, isRetryable: () => true };
const waitingForPeople: ReadonlySet<string | undefined> = new Set(['requested', 'quota_exceeded']);

/** Keeps bulk jobs going: their files are stored as the API stores them. */
export class ChaosJobs {
  readonly sent: SentJob[] = [];
  private readonly jobs: JobStore;
  private isOver = false;
  private sending: Promise<void> | undefined;

  constructor(private readonly options: ChaosJobsOptions) {
    this.jobs = new JobStore(options.database);
  }

  start(): void {
    this.sending ??= this.send();
  }

  /** Ends the creation of jobs. */
  async stop(): Promise<void> {
    this.isOver = true;
    await this.sending;
  }

  /**
   * Waits until each job has ended or is paused for its quota, at most `withinMs`. Resumes jobs whose scoring failed.
   */
  async settled(withinMs: number): Promise<void> {
    const endMs = performance.now() + withinMs;
    for (const { jobId } of this.sent)
      while (!(await this.hasEnded(jobId)) && performance.now() < endMs) {
        await this.jobs.change(
          jobId,
          ['paused'],
          { $set: { state: 'running' }, $unset: { pause: 1 } },
          { 'pause.reason': { $in: ['scoring_failed', 'model_unavailable'] } },
        );
        await pause(pollMs);
      }
  }

  private async send(): Promise<void> {
    const { busy, limited } = this.options;
    await this.create(limited);
    while (!this.isOver) {
      const jobId = await this.create(busy);
      while (!this.isOver && !(await retry(() => this.hasEnded(jobId), patience))) await pause(pollMs);
      if (!this.isOver) await pause(betweenJobsMs);
    }
  }

  private async hasEnded(jobId: string): Promise<boolean> {
    const job = await this.jobs.findById(jobId);
    if (job?.state === 'paused') return waitingForPeople.has(job.pause?.reason);
    return job?.state !== 'reading' && job?.state !== 'running';
  }

  private async create({ id: organisation, modelId }: ChaosOrganisation): Promise<string> {
    const { database, random, leads } = this.options;
    const now = new Date();
    const jobId = jobIdOf(newCallId(now.getTime(), organisation));
    const rows = random.integer(sizes.min, sizes.max);
    const badRows = new Set<number>();
    const lines = Array.from({ length: rows }, (_, index) => {
      if (!random.chance(badShare)) return `${JSON.stringify(random.pick(leads))}\n`;
      badRows.add(index + 1);
      return `${badRow}\n`;
    });
    const bytes = Buffer.from(lines.join(''));
    const uploads = new JobUploadStore(database);
    await retry(() => uploads.remove(jobId), patience);
    for (let end = await retry(() => uploads.end(jobId), patience); end.offset < bytes.length; ) {
      const part = bytes.subarray(end.offset, end.offset + jobLimits.uploadPartBytes);
      await uploads.append(jobId, end, part).catch(() => pause(patience.firstDelayMs));
      end = await retry(() => uploads.end(jobId), patience);
    }
    const job = await retry(() => this.document({ jobId, organisation, modelId, bytes: bytes.length, now }), patience);
    this.sent.push({ jobId, organisation, rows, badRows });
    // Its id is unique, so a repetition after a lost reply is a duplicate.
    await retry(() => createJob(database, job, Number.MAX_SAFE_INTEGER), patience);
    return jobId;
  }

  private async document(sent: {
    readonly jobId: string;
    readonly organisation: string;
    readonly modelId: string;
    readonly bytes: number;
    readonly now: Date;
  }): Promise<Job> {
    const { database } = this.options;
    const { jobId: _id, organisation: org, modelId: model, bytes, now } = sent;
    const found = await new ModelStore(database).find(model);
    const key = (await new ApiKeyStore(database).list(org)).find(({ kind }) => kind === 'live');
    if (found === undefined || key === undefined) throw new Error(`the organisation ${org} has no key or no model`);
    return {
      ...{ _id, org, key: key._id, bucket: 'live', model, version: found.version },
      options: {
        ...{ format: 'jsonl', include_input: false, explain: false, stop_at: 'limit', previous: true },
        max_errors: jobLimits.maxErrors,
      },
      state: 'reading',
      upload: { length: bytes, complete_at: now },
      settled: noTotals,
      revision: 0,
      created_at: now,
      purge_at: new Date(now.getTime() + jobLimits.awaitUploadMs),
    };
  }
}
