import type { IncomingMessage } from 'node:http';
import { type ApiFailure, failureOf } from '../calls/api-reply.js';
import { readWholeReply } from '../calls/http-connections.js';
import { mayPass, Patience } from '../calls/patience.js';
import { CliError, refusal } from '../context/cli-error.js';
import { type JobClient, NoAnswer, pathOf } from './job-client.js';
import type { ResultsSink } from './results-sink.js';

/** Bytes that are read again at the end of a partial file, to see that it belongs to these results. */
const overlapBytes = 4096;
const maxStallMs = 5 * 60_000;

type ResultsKind = 'results' | 'errors';

export interface Download {
  readonly client: JobClient;
  readonly jobId: string;
  readonly kind: ResultsKind;
  /** A sink whose name ends in .gz gets gzip. */
  readonly sink: ResultsSink;
}

/** Receives the bytes that the sink has, and the length of the whole file if it is known. */
export type OnBytes = (bytes: number, total: number | undefined) => void;

/** The bytes of the sink do not agree with those of the service. */
class OtherBytes extends Error {
  override readonly name = 'OtherBytes';
}

/** Downloads the results of a job, or its failed rows, from the end of a partial file. */
export class ResultsDownload {
  /** Whether this process has compared or written the bytes of the sink. */
  private isOwn: boolean;

  constructor(private readonly download: Download) {
    this.isOwn = download.sink.bytes === 0;
  }

  get sink(): ResultsSink {
    return this.download.sink;
  }

  /**
   * Fetches the bytes that the service has and the sink lacks. Goes on after broken connections.
   * @param onBytes called after each write
   * @returns false when the service has no results yet
   * @throws CliError; AbortError when the command is stopped
   */
  async fetch(onBytes: OnBytes = () => undefined): Promise<boolean> {
    const { client, sink } = this.download;
    const patience = new Patience(client.means, maxStallMs);
    for (;;) {
      const before = sink.bytes;
      const failure = await this.attempt(onBytes).catch((error: unknown) => this.restart(error));
      if (failure === undefined) return true;
      if (failure.code === 'job_state_conflict') return false;
      if (!mayPass(failure) && failure.status !== 429) throw refusal(failure);
      if (sink.bytes > before) patience.succeeded();
      if (!(await patience.failed(failure))) throw this.stalled(failure);
    }
  }

  /**
   * Whether the sink has the first bytes of what the service has, judged by its last ones.
   * @throws AbortError when the command is stopped
   */
  async isBeginning(): Promise<boolean> {
    const { client, jobId, kind, sink } = this.download;
    const tail = await sink.tail(overlapBytes);
    const from = sink.bytes - tail.length;
    const range = `bytes=${from}-${sink.bytes - 1}`;
    const reply = await client.open({ method: 'GET', path: pathOfFile(jobId, kind, sink), headers: { range } });
    if (reply.statusCode !== 206) {
      // A service without ranges would send the whole file.
      reply.destroy();
      return false;
    }
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of reply as AsyncIterable<Buffer>) chunks.push(chunk);
    } catch (error) {
      throw client.lost(error);
    }
    return Buffer.concat(chunks).equals(tail);
  }

  /** @returns the failure; undefined when the sink has all that the service has */
  private async attempt(onBytes: OnBytes): Promise<ApiFailure | undefined> {
    const { client, jobId, kind, sink } = this.download;
    const tail = await sink.tail(overlapBytes);
    const from = sink.bytes - tail.length;
    const path = pathOfFile(jobId, kind, sink);
    const headers = from + tail.length === 0 ? {} : { range: `bytes=${from}-` };
    try {
      const response = await client.open({ method: 'GET', path, headers });
      if (response.statusCode === 200 || response.statusCode === 206)
        return await this.take(response, { from, tail, onBytes }).then(() => undefined);
      const reply = await readWholeReply(response);
      if (reply.status !== 416) return failureOf(reply);
      const { total } = rangeOf(reply.headers['content-range']);
      if (tail.length === 0 && total === sink.bytes) return undefined;
      throw new OtherBytes();
    } catch (error) {
      if (error instanceof OtherBytes || error instanceof CliError) throw error;
      const lost = error instanceof NoAnswer ? error : client.lost(error);
      if (lost instanceof NoAnswer) return lost.failure;
      throw lost;
    }
  }

  /** Writes the bytes of a reply after those that the sink has. The connection's errors pass through. */
  private async take(
    response: IncomingMessage,
    at: { readonly from: number; readonly tail: Buffer; readonly onBytes: OnBytes },
  ): Promise<void> {
    const { sink } = this.download;
    const range = response.statusCode === 206 ? rangeOf(response.headers['content-range']) : undefined;
    if (range !== undefined && range.start !== at.from) throw new OtherBytes();
    const length = Number(response.headers['content-length'] ?? Number.NaN);
    const total = range === undefined ? (Number.isFinite(length) ? length : undefined) : range.total;
    // A service without ranges sends the file from its beginning.
    let skipped = range === undefined ? at.from : 0;
    let tail = at.tail;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      let bytes = chunk.subarray(Math.min(skipped, chunk.length));
      skipped -= chunk.length - bytes.length;
      const compared = Math.min(tail.length, bytes.length);
      if (!bytes.subarray(0, compared).equals(tail.subarray(0, compared))) throw new OtherBytes();
      tail = tail.subarray(compared);
      bytes = bytes.subarray(compared);
      if (bytes.length === 0) continue;
      this.isOwn = true;
      await sink.write(bytes);
      at.onBytes(sink.bytes, total);
    }
    if (tail.length > 0 || skipped > 0) throw new OtherBytes();
    this.isOwn = true;
    if (total === undefined || total === sink.bytes) return;
    if (sink.bytes > total) throw new OtherBytes();
    throw new Error(`the reply ended after ${sink.bytes} of ${total} bytes`);
  }

  /**
   * An erasure of a lead changes results, so bytes that this process has written may be outdated: it begins again. A
   * file of an earlier process may be any file, and stays as it is.
   */
  private async restart(error: unknown): Promise<ApiFailure> {
    if (!(error instanceof OtherBytes)) throw error;
    const { sink, jobId, kind } = this.download;
    if (!this.isOwn)
      throw new CliError(
        `${sink.name} exists and is not the beginning of the ${kind} of ${jobId}. Remove it, or name another file with --out`,
        { code: 'output_exists' },
      );
    const changed = `The ${kind} of ${jobId} changed during the download, because a lead was erased`;
    if (!(await sink.clear())) throw new CliError(`${changed}. Run the command again`, { code: 'results_changed' });
    return {
      code: 'results_changed',
      message: changed,
      status: 0,
      docsUrl: undefined,
      requestId: undefined,
      retryAfterSeconds: undefined,
    };
  }

  private stalled(failure: ApiFailure): CliError {
    const { message, code, details } = refusal(failure);
    return new CliError(
      `${message}\nThe download made no progress for ${maxStallMs / 60_000} minutes. Run the same command again to continue it.`,
      { code, details },
    );
  }
}

const pathOfFile = (jobId: string, kind: ResultsKind, { name }: ResultsSink): string =>
  `${pathOf(jobId)}/${kind}${/\.gz$/i.test(name) ? '?compression=gzip' : ''}`;

/** Reads the header Content-Range. A length that is not known is a star. */
function rangeOf(header: string | string[] | undefined): {
  readonly start: number | undefined;
  readonly total: number | undefined;
} {
  const [, start, total] = /^bytes (?:(\d+)-\d+|\*)\/(\d+|\*)$/.exec(String(header)) ?? [];
  return {
    start: start === undefined ? undefined : Number(start),
    total: total === undefined || total === '*' ? undefined : Number(total),
  };
}
