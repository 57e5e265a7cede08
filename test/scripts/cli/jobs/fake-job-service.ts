import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { FakeService, type GivenAnswer } from '../../../support/http/fake-service.js';

/** A request that has arrived. */
export interface ArrivedRequest {
  readonly method: string;
  /** Below `/v1/jobs`, with the query. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
}

export interface FakeJob {
  readonly id: string;
  readonly key: string;
  readonly body: Readonly<Record<string, unknown>>;
  state: string;
  /** Bytes of the upload that are stored. */
  input: Buffer;
  /** Members of the job that replace the default ones. */
  shown: Record<string, unknown>;
  rows: number | null;
  scored: number;
  failed: number;
  results: Buffer;
  errors: Buffer;
}

type Given = GivenAnswer | 'hang up' | undefined;

/** A fake gateway with the API of bulk jobs. It stores uploads in whole parts, like the gateway. */
export class FakeJobService extends FakeService {
  readonly jobs: FakeJob[] = [];
  readonly requests: ArrivedRequest[] = [];
  /** Answers a request instead of the service. */
  answering: (request: ArrivedRequest) => Given = () => undefined;
  /** Runs before each GET of a job: the job goes on here. @param poll from 0 */
  polled: (job: FakeJob, poll: number) => void = () => undefined;
  /** Runs when an upload is complete. */
  uploaded: (job: FakeJob) => void = (job) => {
    job.state = 'reading';
  };
  /** Offsets of the input at which uploads lose their connection, in order. */
  readonly uploadBreaks: number[] = [];
  /** Offsets of a download at which it loses its connection, in order. */
  readonly downloadBreaks: number[] = [];
  /** Whether uploads that break get an answer, as a silent connection does, instead of a reset. */
  answersAtBreaks = false;
  /** Parts are stored whole: the rest of a broken upload is lost. */
  partBytes = 1_000;
  /** Whether a reply to a complete upload is lost. */
  losesUploadReply = false;
  /** The version of the model that scores calls now. */
  modelVersion = '2026.11.0';
  /** Whether it answers requests with `Range`. */
  hasRanges = true;
  private polls = 0;

  /** The only job. */
  get job(): FakeJob {
    const [job] = this.jobs;
    if (job === undefined || this.jobs.length > 1) throw new Error(`there are ${this.jobs.length} jobs`);
    return job;
  }

  /** Method and path of the requests, such as `PUT /job_1/input`. */
  get calls(): string[] {
    return this.requests.map(({ method, path }) => `${method} ${path}`);
  }

  /** Resolves when such a call has arrived. */
  async arrival(call: RegExp): Promise<void> {
    while (!this.calls.some((each) => call.test(each))) await once(this.arrivals, 'call');
  }

  /** Adds a job as if a command had created it. */
  add(state: string, more: Partial<FakeJob> = {}): FakeJob {
    const job: FakeJob = {
      id: `job_${this.jobs.length + 1}`,
      key: `key ${this.jobs.length + 1}`,
      body: {},
      state,
      input: Buffer.alloc(0),
      shown: {},
      rows: null,
      scored: 0,
      failed: 0,
      results: Buffer.alloc(0),
      errors: Buffer.alloc(0),
      ...more,
    };
    this.jobs.push(job);
    return job;
  }

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').replace(/^\/v1\/jobs/, '');
    const arrived = { method: request.method ?? '', path, headers: request.headers };
    this.requests.push(arrived);
    this.arrivals.emit('call');
    const given = this.answering(arrived);
    if (given === 'hang up') response.destroy();
    else if (given !== undefined) refuse(response, given);
    else await this.answer(request, response, path);
  }

  private async answer(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    if (path.startsWith('/v1/models/')) return send(response, 200, { version: this.modelVersion });
    const { pathname, searchParams } = new URL(path, 'http://x/');
    const [, id = '', part = ''] = pathname.split('/');
    if (id === '') {
      if (request.method === 'POST') return await this.create(request, response);
      return this.list(response, searchParams);
    }
    const job = this.jobs.find((each) => each.id === id);
    if (job === undefined) return refuse(response, { status: 404, code: 'not_found' });
    if (part === 'input') return await this.upload(job, request, response);
    if (part === 'results' || part === 'errors') return this.download(job[part], request, response);
    if (request.method === 'DELETE') {
      this.jobs.splice(this.jobs.indexOf(job), 1);
      response.writeHead(204).end();
      return;
    }
    const after = ({ pause: 'paused', resume: 'running', cancel: 'canceled' } as const)[part];
    if (after !== undefined) job.state = after;
    else {
      this.polled(job, this.polls);
      this.polls += 1;
    }
    send(response, 200, documentOf(job));
  }

  private async create(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const key = String(request.headers['idempotency-key']);
    const body: Record<string, unknown> = JSON.parse(await text(request));
    const known = this.jobs.find((job) => job.key === key);
    send(response, 201, documentOf(known ?? this.add('awaiting_upload', { key, body })));
  }

  private list(response: ServerResponse, query: URLSearchParams): void {
    const from = Number(query.get('cursor') ?? 0);
    const limit = Number(query.get('limit'));
    const [name, sha256] = [query.get('input_name'), query.get('input_sha256')];
    const documents = this.jobs.map(documentOf);
    const found =
      name === null && sha256 === null
        ? documents
        : documents.reverse().filter(({ input }) => input.name === name || input.sha256 === sha256);
    const end = from + limit;
    const more = end < found.length ? { next_cursor: String(end) } : {};
    send(response, 200, { jobs: found.slice(from, end), ...more });
  }

  private async upload(job: FakeJob, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'HEAD') {
      response.writeHead(200, { 'upload-offset': job.input.length }).end();
      return;
    }
    if (job.state !== 'awaiting_upload') return refuse(response, { status: 409, code: 'job_state_conflict' });
    const offset = request.method === 'PUT' ? 0 : Number(request.headers['upload-offset']);
    if (offset !== job.input.length) return refuse(response, { status: 409, code: 'job_state_conflict' });
    const length = offset + Number(request.headers['content-length']);
    const breakAt = this.uploadBreaks.shift() ?? Number.POSITIVE_INFINITY;
    let waiting = Buffer.alloc(0);
    for await (const chunk of request as AsyncIterable<Buffer>) {
      waiting = Buffer.concat([waiting, chunk]);
      for (;;) {
        const end = job.input.length + Math.min(this.partBytes, waiting.length);
        const isPart = waiting.length >= this.partBytes || end === length;
        if (end > breakAt || !isPart || waiting.length === 0) break;
        job.input = Buffer.concat([job.input, waiting.subarray(0, end - job.input.length)]);
        waiting = waiting.subarray(Math.min(this.partBytes, waiting.length));
      }
      if (job.input.length + waiting.length >= breakAt) {
        if (!this.answersAtBreaks) resetEveryOther(request, this.uploadBreaks.length);
        else refuse(response, { status: 400, code: 'bad_request', headers: { connection: 'close' } });
        return;
      }
    }
    if (job.input.length === length) this.uploaded(job);
    if (this.losesUploadReply) {
      this.losesUploadReply = false;
      response.destroy();
    } else if (request.method === 'PUT') send(response, 200, documentOf(job));
    else response.writeHead(204, { 'upload-offset': job.input.length }).end();
  }

  private download(bytes: Buffer, request: IncomingMessage, response: ServerResponse): void {
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const start = from === undefined || !this.hasRanges ? 0 : Number(from);
    if (start > 0 && start >= bytes.length) {
      const headers = { 'content-range': `bytes */${bytes.length}` };
      refuse(response, { status: 416, code: 'range_not_satisfiable', headers });
      return;
    }
    const isPart = from !== undefined && this.hasRanges;
    const end = isPart && to ? Math.min(bytes.length, Number(to) + 1) : bytes.length;
    const headers = {
      'content-length': end - start,
      ...(isPart ? { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` } : {}),
    };
    response.writeHead(isPart ? 206 : 200, headers);
    const breakAt = this.downloadBreaks.shift();
    if (breakAt === undefined) response.end(bytes.subarray(start, end));
    else response.write(bytes.subarray(start, breakAt), () => setImmediate(() => response.destroy()));
  }
}

/** A reset and a plain end are different errors at the other side. */
function resetEveryOther({ socket }: IncomingMessage, number: number): void {
  if (number % 2 === 0) socket.resetAndDestroy();
  else socket.destroy();
}

/** A job as the API shows it. */
function documentOf(job: FakeJob) {
  const { input = {}, ...options } = job.body as { readonly input?: Readonly<Record<string, unknown>> };
  return {
    ...options,
    job_id: job.id,
    state: job.state,
    model_id: 'mdl_a',
    model_version: '2026.11.0',
    created_at: '2026-11-24T08:00:00.000Z',
    input: { format: 'csv', ...input, bytes_received: job.input.length } as Readonly<Record<string, unknown>>,
    progress: {
      rows: job.rows,
      scored: job.scored,
      failed: job.failed,
      empty: 0,
      rows_per_second: 2_000,
      seconds_left: 3,
    },
    usage: { current: 500, limit: 10_000, remaining: 9_500, in_grace: false, backstop: 20_000 },
    expires_at: '2026-12-01T08:00:00.000Z',
    ...job.shown,
  };
}

function send(response: ServerResponse, status: number, document: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document));
}

function refuse(response: ServerResponse, { status, code, message = `it is ${code}`, headers }: GivenAnswer): void {
  const error = { code, message, docs_url: `https://docs.example/errors#${code}` };
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify({ error }));
}
