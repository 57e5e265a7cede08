import { createReadStream } from 'node:fs';
import { globalAgent } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as pause } from 'node:timers/promises';
import { type LoadAnswer, type LoadCall, sendCall } from '../../load/send-call.js';
import type { GatewayAddress } from '../load/messages.js';
import { ResultCheck } from './bulk-file.js';

/** The members of V1Job that the benchmark reads. */
interface JobReply {
  readonly job_id: string;
  readonly state: string;
  readonly progress: { readonly rows: number | null; readonly scored: number };
  readonly pause?: { readonly message: string };
  readonly error?: { readonly message: string };
}

/** When the parts of a job ended, in seconds from the first byte of the upload. */
export interface JobTimes {
  readonly uploadedS: number;
  readonly readS: number;
  readonly completedS: number;
}

const pollMs = 50;

/** A bulk job through the API, as a caller runs it. */
export class BulkCaller {
  constructor(
    private readonly gateway: GatewayAddress,
    private readonly modelId: string,
  ) {}

  async create(): Promise<string> {
    const { job_id: id } = await this.json<JobReply>('POST', '/v1/jobs', { model_id: this.modelId });
    return id;
  }

  async upload(jobId: string, path: string): Promise<void> {
    const body = createReadStream(path, { highWaterMark: 1024 * 1024 });
    await this.call(`/v1/jobs/${jobId}/input`, { method: 'PUT', body });
  }

  /** Uploads a file, and waits until the job is completed. */
  async run(path: string): Promise<{ readonly jobId: string; readonly times: JobTimes }> {
    const jobId = await this.create();
    const startMs = performance.now();
    const seconds = (): number => (performance.now() - startMs) / 1_000;
    await this.upload(jobId, path);
    const uploadedS = seconds();
    await this.until(jobId, ['running', 'completed']);
    const readS = seconds();
    await this.until(jobId, ['completed']);
    return { jobId, times: { uploadedS, readS, completedS: seconds() } };
  }

  async until(jobId: string, states: readonly string[]): Promise<JobReply> {
    for (;;) {
      const job = await this.read(jobId);
      if (states.includes(job.state)) return job;
      if (['failed', 'canceled', 'paused'].includes(job.state))
        throw new Error(`the job is ${job.state}: ${job.pause?.message ?? job.error?.message}`);
      await pause(pollMs);
    }
  }

  read(jobId: string): Promise<JobReply> {
    return this.json<JobReply>('GET', `/v1/jobs/${jobId}`);
  }

  async cancel(jobId: string): Promise<void> {
    await this.json('POST', `/v1/jobs/${jobId}/cancel`);
  }

  /** Downloads the results and checks them. @returns the seconds it took */
  async download(jobId: string, rows: number): Promise<number> {
    const startMs = performance.now();
    const check = new ResultCheck();
    const decoder = new StringDecoder('utf8');
    await this.call(`/v1/jobs/${jobId}/results`, { onBytes: (bytes) => check.take(decoder.write(bytes)) });
    check.end(rows);
    return (performance.now() - startMs) / 1_000;
  }

  private async json<Reply>(method: string, path: string, body?: object): Promise<Reply> {
    const answer = await this.call(path, { method, body: body === undefined ? undefined : JSON.stringify(body) });
    return JSON.parse(answer.body.toString()) as Reply;
  }

  /** @throws Error with the body of an answer other than 2xx */
  private async call(path: string, call: LoadCall): Promise<LoadAnswer> {
    const { host, port, secrets } = this.gateway;
    const answer = await sendCall(`http://${host}:${port}${path}`, { ...call, secret: secrets[0], agent: globalAgent });
    if (answer.status >= 200 && answer.status < 300) return answer;
    throw new Error(`the gateway answered ${answer.status}: ${answer.body.toString('utf8', 0, 500)}`);
  }
}
