import { createReadStream } from 'node:fs';
import { request } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
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
    const sent = request(this.options('PUT', `/v1/jobs/${jobId}/input`));
    const answered = replyOf(sent);
    await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), sent);
    await answered;
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
    const sent = request(this.options('GET', `/v1/jobs/${jobId}/results`));
    const check = new ResultCheck();
    await new Promise<void>((resolve, reject) => {
      sent.on('error', reject).on('response', (response) => {
        response
          .setEncoding('utf8')
          .on('data', (text: string) => {
            try {
              check.take(text);
            } catch (error) {
              reject(error);
              response.destroy();
            }
          })
          .on('end', resolve)
          .on('error', reject);
      });
      sent.end();
    });
    check.end(rows);
    return (performance.now() - startMs) / 1_000;
  }

  private async json<Reply>(method: string, path: string, body?: object): Promise<Reply> {
    const sent = request(this.options(method, path, body === undefined ? {} : { 'content-type': 'application/json' }));
    const answered = replyOf(sent);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    return JSON.parse(await answered) as Reply;
  }

  private options(method: string, path: string, headers: Readonly<Record<string, string>> = {}) {
    const { host, port, secrets } = this.gateway;
    return { host, port, method, path, headers: { ...headers, authorization: `Bearer ${secrets[0]}` } };
  }
}

/** The body of a 2xx. @throws Error with the body of another answer */
function replyOf(sent: ReturnType<typeof request>): Promise<string> {
  return new Promise((resolve, reject) => {
    sent.on('error', reject).on('response', (response) => {
      let text = '';
      response
        .setEncoding('utf8')
        .on('data', (part: string) => {
          text += part;
        })
        .on('error', reject)
        .on('end', () => {
          const { statusCode: status = 0 } = response;
          if (status >= 200 && status < 300) resolve(text);
          else reject(new Error(`the gateway answered ${status}: ${text.slice(0, 500)}`));
        });
    });
  });
}
