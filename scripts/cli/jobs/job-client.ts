import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { type ApiFailure, failureOf, member, parse } from '../calls/api-reply.js';
import { connectionFailure } from '../calls/connection-failure.js';
import { type HttpReply, type HttpSend, readWholeReply } from '../calls/http-connections.js';
import { mayPass, Patience, type WaitMeans } from '../calls/patience.js';
import { refusal } from '../context/cli-error.js';
import { isJob, isJobPage, type JobPage, type JobReply } from './job-reply.js';

export interface JobClientOptions extends WaitMeans {
  /** Address of the service, without `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly send: HttpSend;
}

export interface JobRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/v1/jobs`, such as `/job_1/input`. */
  readonly path: string;
  /** Another resource than `jobs`. */
  readonly of?: 'models';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Readable;
}

/** A request had no answer, or a reply broke off. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';

  constructor(readonly failure: ApiFailure) {
    super(failure.message);
  }
}

/** A change of the state of a job. */
export type JobCommand = 'pause' | 'resume' | 'cancel';

/** The state after each command. A command whose first answer was lost has worked if the job is in it. */
const wantedStates: Readonly<Record<JobCommand, readonly string[]>> = {
  pause: ['paused'],
  resume: ['running', 'reading', 'completed'],
  cancel: ['canceled'],
};

/** Jobs of a page, at most. */
export const maxPage = 100;
const maxSilenceMs = 45_000;

/**
 * Calls the API of bulk jobs. Calls with a JSON reply are sent again after lost connections, errors of the service and
 * `rate_limited`, for at most 45 s. A service that has never answered is not asked again: the address is probably
 * wrong.
 */
export class JobClient {
  private hasEverAnswered = false;

  constructor(private readonly options: JobClientOptions) {}

  get means(): WaitMeans {
    return this.options;
  }

  /** Creates a job, or finds the one that the same key has created. @throws CliError */
  async create(body: Readonly<Record<string, unknown>>, idempotencyKey: string): Promise<JobReply> {
    const text = JSON.stringify(body);
    const headers = {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(text)),
      'idempotency-key': idempotencyKey,
    };
    const reply = await this.ask(() => ({ method: 'POST', path: '', headers, body: Readable.from([text]) }));
    return jobOf(reply);
  }

  /** @throws CliError */
  async job(jobId: string): Promise<JobReply> {
    return jobOf(await this.ask(() => ({ method: 'GET', path: pathOf(jobId) })));
  }

  /** One attempt to read a job. @throws AbortError when the command is stopped */
  async poll(jobId: string): Promise<{ readonly job: JobReply } | { readonly failure: ApiFailure }> {
    try {
      const reply = await this.reply({ method: 'GET', path: pathOf(jobId) });
      const body = parse(reply.body);
      return reply.status === 200 && isJob(body) ? { job: body } : { failure: failureOf(reply) };
    } catch (error) {
      if (error instanceof NoAnswer) return { failure: error.failure };
      throw error;
    }
  }

  /** @param cursor `next_cursor` of the page before. @throws CliError */
  async page(
    limit: number,
    cursor: string | undefined,
    filter: Readonly<Record<string, string>> = {},
  ): Promise<JobPage> {
    const query = new URLSearchParams({ ...filter, limit: String(limit), ...(cursor !== undefined && { cursor }) });
    const reply = await this.ask(() => ({ method: 'GET', path: `?${query}` }));
    const body = parse(reply.body);
    if (reply.status === 200 && isJobPage(body)) return body;
    throw refusal(failureOf(reply));
  }

  /** All jobs whose file has a name or a digest, newest first. @throws CliError */
  async jobsOf(filter: { readonly input_name: string } | { readonly input_sha256: string }): Promise<JobReply[]> {
    const jobs: JobReply[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.page(maxPage, cursor, filter);
      jobs.push(...page.jobs);
      cursor = page.jobs.length === 0 ? undefined : page.next_cursor;
    } while (cursor !== undefined);
    return jobs;
  }

  /** The version of a model that scores calls now; undefined if the reply has none. @throws CliError */
  async modelVersion(modelId: string): Promise<string | undefined> {
    const reply = await this.ask(() => ({ method: 'GET', of: 'models', path: pathOf(modelId) }));
    if (reply.status !== 200) throw refusal(failureOf(reply));
    const version = member(parse(reply.body), 'version');
    return typeof version === 'string' ? version : undefined;
  }

  /** @throws CliError when the job's state does not allow it */
  async command(jobId: string, command: JobCommand): Promise<JobReply> {
    let attempts = 0;
    const reply = await this.ask(() => {
      attempts += 1;
      return { method: 'POST', path: `${pathOf(jobId)}/${command}`, headers: { 'content-length': '0' } };
    });
    if (reply.status === 409 && attempts > 1) {
      const job = await this.job(jobId);
      if (wantedStates[command].includes(job.state)) return job;
    }
    return jobOf(reply);
  }

  /** Removes a job with its files. @throws CliError */
  async remove(jobId: string): Promise<void> {
    let attempts = 0;
    const reply = await this.ask(() => {
      attempts += 1;
      return { method: 'DELETE', path: pathOf(jobId) };
    });
    // A lost answer of the first attempt: the job is gone.
    if (reply.status === 404 && attempts > 1) return;
    if (reply.status !== 204 && reply.status !== 200) throw refusal(failureOf(reply));
  }

  /** Sends one request, and reads its whole reply. @throws NoAnswer; AbortError when the command is stopped */
  async reply(request: JobRequest): Promise<HttpReply> {
    const response = await this.open(request);
    try {
      return await readWholeReply(response);
    } catch (error) {
      throw this.lost(error);
    } finally {
      request.body?.destroy();
    }
  }

  /** Sends one request; its reply's body is not read yet. @throws NoAnswer; AbortError when the command is stopped */
  async open({ path, of, headers, ...request }: JobRequest): Promise<IncomingMessage> {
    const { apiKey, send, signal } = this.options;
    const all = { authorization: `Bearer ${apiKey}`, accept: '*/*', 'accept-encoding': 'identity', ...headers };
    try {
      const response = await send(this.url(path, of), { ...request, headers: all, signal });
      this.hasEverAnswered = true;
      return response;
    } catch (error) {
      throw this.lost(error);
    }
  }

  /** The error of a broken connection. */
  lost(error: unknown): unknown {
    const { signal } = this.options;
    if (signal.aborted) return signal.reason;
    return new NoAnswer(connectionFailure(error, this.url(''), this.hasEverAnswered));
  }

  private url(path: string, of: 'jobs' | 'models' = 'jobs'): URL {
    return new URL(`${this.options.baseUrl.replace(/\/+$/, '')}/v1/${of}${path}`);
  }

  /** @returns the first reply that is not a passing failure. @throws CliError when none comes in time */
  private async ask(request: () => JobRequest): Promise<HttpReply> {
    const patience = new Patience(this.options, maxSilenceMs);
    for (;;) {
      const answer = await this.reply(request()).catch((error: unknown) => {
        if (error instanceof NoAnswer) return error.failure;
        throw error;
      });
      const failure = 'body' in answer ? failureOf(answer) : answer;
      if ('body' in answer && !mayPass(failure)) return answer;
      if (!this.hasEverAnswered || !(await patience.failed(failure))) throw refusal(failure);
    }
  }
}

/** @throws CliError when a reply is no job */
function jobOf(reply: HttpReply): JobReply {
  const body = parse(reply.body);
  if ((reply.status === 200 || reply.status === 201) && isJob(body)) return body;
  throw refusal(failureOf(reply));
}

/** The path of a job below `/v1/jobs`. */
export const pathOf = (jobId: string): string => `/${encodeURIComponent(jobId)}`;

/** The same values give the same key, so that the same command finds the job that it has created before. */
export const idempotencyKeyOf = (values: Readonly<Record<string, unknown>>): string =>
  `leadscore-job-${createHash('sha256').update(JSON.stringify(values)).digest('base64url')}`;
