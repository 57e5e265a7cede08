import { mayPass, Patience } from '../calls/patience.js';
import { CliError, refusal } from '../context/cli-error.js';
import { countText } from '../output/readable-numbers.js';
import type { ResultsDownload } from './download-results.js';
import type { JobClient } from './job-client.js';
import { hasEnded, type JobReply, rowsDone, shareDone } from './job-reply.js';
import type { JobScreen } from './job-screen.js';
import { pauseText } from './job-text.js';

/** A job goes on without the command, so a long absence of the service ends the wait alone. */
const maxSilenceMs = 30 * 60_000;
const firstPollMs = 250;
const maxPollMs = 2_000;
const maxPausedPollMs = 10_000;
const followEveryMs = 10_000;

export interface JobWait {
  readonly client: JobClient;
  readonly screen: JobScreen;
  /** Fetches the results that exist so far. Undefined: they are not wanted. */
  readonly download: ResultsDownload | undefined;
}

/**
 * Polls a job until it has ended, and shows its progress. Lost connections and errors of the service do not end the
 * wait.
 * @throws CliError; AbortError when the command is stopped
 */
export async function waitForJob(jobId: string, { client, screen, download }: JobWait): Promise<JobReply> {
  const { signal, wait } = client.means;
  const patience = new Patience(client.means, maxSilenceMs);
  const follower = download === undefined ? undefined : new ResultsFollower(download, client.means.now);
  const notes = new StateNotes(screen);
  try {
    for (let pollMs = firstPollMs; ; pollMs *= 1.5) {
      const answer = await client.poll(jobId);
      follower?.check();
      if ('job' in answer) {
        const { job } = answer;
        patience.succeeded();
        notes.show(job);
        if (hasEnded(job)) return job;
        follower?.follow(job);
        await wait(Math.min(pollMs, job.state === 'paused' ? maxPausedPollMs : maxPollMs), signal);
      } else {
        const { failure } = answer;
        if (!mayPass(failure)) throw refusal(failure);
        if (!(await patience.failed(failure))) throw silent(refusal(failure));
      }
    }
  } finally {
    await follower?.settled();
  }
}

/** Shows each state of a job: a bar for its rows, and a sentence when it pauses or goes on. */
class StateNotes {
  private pause = '';
  private readonly noticesShown = new Set<string>();
  private last = '';

  constructor(private readonly screen: JobScreen) {}

  show(job: JobReply): void {
    const { progress } = job;
    const failed = progress?.failed ?? 0;
    const note = noteOf(job);
    const counts = `${rowsDone(job)} ${progress?.rows}`;
    // An update removes the note, and a log would get the note again with each poll.
    if (note === '' || counts !== this.last)
      this.screen.update('Scoring', {
        done: rowsDone(job),
        fraction: shareDone(job),
        ...(failed === 0 ? {} : { detail: `${countText(failed)} failed` }),
      });
    this.last = counts;
    for (const notice of job.notices ?? []) {
      if (this.noticesShown.has(notice)) continue;
      this.noticesShown.add(notice);
      this.screen.say(`Note: ${notice}.`);
    }
    const pause = job.pause === undefined || job.state !== 'paused' ? '' : pauseText(job.pause);
    if (pause !== this.pause) this.screen.say(pause === '' ? 'The job goes on.' : `The job is paused. ${pause}`);
    this.pause = pause;
    if (note !== '') this.screen.waiting(note);
  }
}

/** Why no rows are scored, or an empty text. */
function noteOf({ state }: JobReply): string {
  if (state === 'paused') return 'paused';
  return state === 'reading' ? 'the service reads the file' : '';
}

/** Fetches grown results while the job runs, beside the polls. */
class ResultsFollower {
  private running: Promise<unknown> | undefined;
  private problem: unknown;
  private rows = 0;
  private nextMs = 0;

  constructor(
    private readonly download: ResultsDownload,
    private readonly now: () => number,
  ) {}

  follow(job: JobReply): void {
    const rows = rowsDone(job);
    if (this.running !== undefined || rows === this.rows || this.now() < this.nextMs) return;
    this.rows = rows;
    this.running = this.download
      .fetch()
      .catch((error: unknown) => {
        this.problem = error;
      })
      .finally(() => {
        this.running = undefined;
        this.nextMs = this.now() + followEveryMs;
      });
  }

  /** @throws the error of an earlier fetch: an unwritable file is better known now than at the end */
  check(): void {
    if (this.problem !== undefined) throw this.problem;
  }

  async settled(): Promise<void> {
    await this.running;
  }
}

function silent({ message, code, details }: CliError): CliError {
  return new CliError(`${message}\nThe service has not answered for ${maxSilenceMs / 60_000} minutes.`, {
    code,
    details,
  });
}
