import { writeFile } from 'node:fs/promises';
import { FakeServiceDesk } from '../../../support/http/fake-service.js';
import { type CliResult, callCli, type RunningCli, startCli } from '../cli-call.js';
import { type FakeJob, FakeJobService } from './fake-job-service.js';

/** A temporary folder for files and a fake service with bulk jobs. */
export class JobDesk extends FakeServiceDesk {
  readonly service = new FakeJobService();

  static open(): Promise<JobDesk> {
    return new JobDesk().enter();
  }

  /** Writes a CSV of about `bytes` bytes and returns its content. */
  async writeRows(name: string, bytes: number): Promise<string> {
    const rows: string[] = ['n,crm_id'];
    let length = 9;
    for (let n = 1; length < bytes; n += 1) {
      const row = `${n},crm-${n}`;
      rows.push(row);
      length += row.length + 1;
    }
    const text = `${rows.join('\n')}\n`;
    await writeFile(this.file(name), text);
    return text;
  }

  /** Arguments of a job command on the fake service. */
  words(...words: string[]): string[] {
    return ['job', ...words, '--key', 'leadscore_sk_secret', '--url', this.service.url];
  }

  createWords(name: string, ...more: string[]): string[] {
    return this.words('create', this.file(name), '--model', 'mdl_a', ...more);
  }

  create(name: string, ...more: string[]): Promise<CliResult> {
    return callCli(this.createWords(name, ...more));
  }

  /** Runs a command as a child process. */
  startCreate(name: string, ...more: string[]): RunningCli {
    return startCli(this.createWords(name, ...more));
  }

  scoreWords(name: string, ...more: string[]): string[] {
    const [, ...access] = this.words();
    return ['score', this.file(name), '--model', 'mdl_a', ...access, ...more];
  }

  score(name: string, ...more: string[]): Promise<CliResult> {
    return callCli(this.scoreWords(name, ...more));
  }

  /** Runs `score` as a child process. */
  startScore(name: string, ...more: string[]): RunningCli {
    return startCli(this.scoreWords(name, ...more));
  }

  run(...words: string[]): Promise<CliResult> {
    return callCli(this.words(...words));
  }

  /** Lets an uploaded job score its rows with each poll, and end as `state`. */
  scoresInPolls(polls: number, state = 'completed'): void {
    this.service.polled = (job, poll) => {
      if (job.state === 'awaiting_upload') return;
      settle(job, Math.min(1, (poll + 1) / polls));
      job.state = poll + 1 >= polls ? state : 'running';
    };
  }
}

/** The results of `writeRows`. */
export const resultsOf = (input: string): string =>
  input
    .trimEnd()
    .split('\n')
    .map((line, index) => `${line},${index === 0 ? 'score' : index % 101}\n`)
    .join('');

/** Shows a share of the rows of a job as scored. */
export function settle(job: FakeJob, share: number): void {
  const lines = resultsOf(job.input.toString()).match(/.*\n/g) ?? [];
  job.rows = lines.length - 1;
  job.scored = Math.floor(share * job.rows);
  job.results = Buffer.from(lines.slice(0, job.scored + 1).join(''));
}
