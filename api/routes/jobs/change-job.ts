import {
  endedAt,
  hasEnded,
  type Job,
  type JobState,
  unfinishedStates,
} from '../../../shared/store/jobs/job-documents.js';
import { removeJob } from '../../../shared/store/jobs/remove-job.js';
import { type JobDeps, stateConflict } from './job-access.js';

type ChangeDeps = Pick<JobDeps, 'stores' | 'clock' | 'retentionMs' | 'logger'>;

/** A change of state by a person or a program. */
interface Command {
  /** The states from which the change is allowed. */
  readonly from: readonly JobState[];
  /** The change, or undefined if the job is in another state. */
  readonly change: (job: Job, from: readonly JobState[], deps: ChangeDeps) => Promise<Job | undefined>;
  /** Whether the job already is as the call wants it. */
  readonly isDone: (job: Job) => boolean;
  /** A sentence on the states from which the change is allowed. */
  readonly allowed: string;
}

const pause: Command = {
  from: ['running', 'paused'],
  change: (job, from, { stores }) =>
    stores.jobs.change(job._id, from, {
      $set: { state: 'paused', pause: { reason: 'requested', message: 'A call has paused the job.' } },
    }),
  isDone: ({ state, pause: paused }) => state === 'paused' && paused?.reason === 'requested',
  allowed: 'Only a running or paused job can be paused; a file that is being read cannot.',
};

const resume: Command = {
  from: ['paused'],
  change: ({ _id, pause: paused, settled }, from, { stores }) => {
    // Else the job would pause again at once.
    const forgiven = paused?.reason === 'too_many_errors' ? { forgiven_errors: settled.failed } : {};
    return stores.jobs.change(_id, from, { $set: { state: 'running', ...forgiven }, $unset: { pause: 1 } });
  },
  isDone: ({ state }) => state === 'running',
  allowed: 'Only a paused job can be resumed.',
};

const cancel: Command = {
  from: unfinishedStates,
  change: async (job, from, { stores, clock, retentionMs, logger }) => {
    const canceled = await stores.jobs.change(job._id, from, {
      $set: { state: 'canceled', ...endedAt(clock.now(), retentionMs) },
      $unset: { pause: 1 },
    });
    if (canceled === undefined) return undefined;
    const logLeft = (error: unknown): void =>
      logger.warn({ error }, 'the upload of a canceled job was not removed: it goes with the job');
    // No call can add bytes any more. If the removal fails, they go with the job.
    stores.uploads.removeInSteps(job._id).catch(logLeft);
    stores.slices.removeAllInputs(job._id).catch(logLeft);
    return canceled;
  },
  isDone: ({ state }) => state === 'canceled',
  allowed: 'A job that has ended cannot be canceled.',
};

const commands = { pause, resume, cancel } as const;
export const commandNames = ['pause', 'resume', 'cancel'] as const;
export type CommandName = (typeof commandNames)[number];

/** A call that changes a job. */
export interface ChangeCall {
  /** Reads the job, also again after a change by another call. */
  readonly read: () => Promise<Job>;
  /** Called before a change that the job's state allows. */
  readonly before?: () => Promise<void>;
}

/**
 * Pauses, resumes or cancels a job. A second call of the same kind changes nothing.
 * @returns the job after it
 * @throws ApiError jobStateConflict
 */
export async function changeJob(name: CommandName, { read, before }: ChangeCall, deps: ChangeDeps): Promise<Job> {
  const { from, change, isDone, allowed } = commands[name];
  const job = await read();
  if (isDone(job)) return job;
  if (from.includes(job.state)) await before?.();
  const changed = await change(job, from, deps);
  if (changed !== undefined) return changed;
  const now = await read();
  if (isDone(now)) return now;
  throw stateConflict(now, allowed);
}

/** Removes an ended job with its files. @throws ApiError jobStateConflict */
export async function deleteJob({ read, before }: ChangeCall, { stores }: Pick<ChangeDeps, 'stores'>): Promise<void> {
  const job = await read();
  if (!hasEnded(job)) throw stateConflict(job, 'Cancel it before you remove it.');
  await before?.();
  await removeJob(stores, job._id);
}
