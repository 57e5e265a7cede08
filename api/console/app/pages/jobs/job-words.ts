import type { jobPageSchema, jobSchema } from '../../../../../shared/admin/schemas/jobs.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { countText, dayText, instantText } from '../../parts/formats.js';

export type Job = ShapeOf<typeof jobSchema>;
export type JobPage = ShapeOf<typeof jobPageSchema>;

const states: Readonly<Record<string, readonly [text: string, tone: '' | 'good' | 'warn' | 'bad' | 'on']>> = {
  awaiting_upload: ['Waiting for its file', 'warn'],
  reading: ['Reading the file', 'on'],
  running: ['Scoring', 'on'],
  paused: ['Paused', 'warn'],
  completed: ['Completed', 'good'],
  canceled: ['Canceled', ''],
  failed: ['Failed', 'bad'],
};

/** @param source `stored` for a job without a file */
export const stateText = (state: string, source?: 'stored'): string =>
  source === 'stored' && state === 'reading' ? 'Finding the leads' : (states[state]?.[0] ?? state);
export const stateClass = (state: string): string => `badge ${states[state]?.[1] ?? ''}`;

const unfinished: ReadonlySet<string> = new Set(['awaiting_upload', 'reading', 'running', 'paused']);
export const hasEnded = (state: string): boolean => !unfinished.has(state);

/** The name of the file, or the id of a job whose creation named none. */
export const fileText = ({ name, source, job_id: id }: Pick<Job, 'name' | 'source' | 'job_id'>): string =>
  name ?? (source === 'stored' ? 'Stored leads' : id);

export const rowsText = ({ progress }: Pick<Job, 'progress'>): string =>
  progress.rows === null ? '–' : countText(progress.rows);

export const rowsDone = ({ scored, failed, empty }: Job['progress']): number => scored + failed + empty;

/** The cause of a pause, and its cure. */
interface Remedy {
  readonly why: string;
  readonly cure: string;
  /** A page of the console that helps. */
  readonly link?: readonly [address: string, text: string];
}

/** A pause in words. */
export function remedyOf({ pause, model_id: modelId, progress, options }: JobPage): Remedy | undefined {
  if (pause === undefined) return undefined;
  const model = `/models/${encodeURIComponent(modelId)}`;
  const byItself = pause.resumes_at ? ` at ${instantText(pause.resumes_at)}, or when the cause is gone` : '';
  const remedies: Readonly<Record<string, Remedy>> = {
    requested: { why: 'A person or a program paused it.', cure: 'Press Resume to let it go on.' },
    too_many_errors: {
      why: `${countText(progress.failed)} rows failed, more than the ${countText(options.max_errors)} that the job allows.`,
      cure: 'Look at the errors below. Resume allows as many further failures; Cancel ends the job.',
    },
    quota_exceeded: {
      why: 'The month has no room for the next rows.',
      cure: `It goes on when the operator of the service raises the limit${
        pause.resumes_at ? `, or when the next month begins on ${dayText(pause.resumes_at)}` : ''
      }.`,
      link: ['/usage', 'See the usage of the month'],
    },
    workspace_suspended: {
      why: 'The operator of the service has suspended the organisation.',
      cure: 'It goes on by itself when the operator ends the suspension.',
    },
    expired_read_only: {
      why: 'The trial has ended.',
      cure: 'It goes on when the operator of the service gives the organisation a paid plan.',
      link: ['/settings', 'See the plan'],
    },
    api_disabled: {
      why: 'Live API of the model is off.',
      cure: 'It goes on when Live API is on again.',
      link: ['/models', 'Turn Live API on'],
    },
    deploy_blocked: {
      why: 'The deploy policy is block, and the model has not passed its gates.',
      cure: 'It goes on when the model has passed, or has an override.',
      link: [model, 'See the gates of the model'],
    },
    model_unavailable: {
      why: 'The model cannot be loaded, or it crashes its workers.',
      cure: `It tries again by itself${byItself}.`,
      link: [model, 'See the model'],
    },
    scoring_failed: {
      why: 'Rows could not be scored and recorded five times in a row.',
      cure: `It tries again by itself${byItself}.`,
    },
  };
  return remedies[pause.reason] ?? { why: pause.message, cure: 'Press Resume to try again.' };
}

/** A time in words: `2 min 5 s`. */
export function durationText(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
