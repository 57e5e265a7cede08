import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../../shared/errors.js';
import { type ApiFailure, headerOf, readReply, type ScoreReply } from './api-reply.js';
import { CallPace } from './call-pace.js';
import type { HttpPost } from './http-connections.js';

/** A call that is not going to pass by being sent again. */
export class CallRefused extends Error {
  override readonly name = 'CallRefused';

  constructor(readonly failure: ApiFailure) {
    super(failure.message);
  }
}

export interface ScoreClientOptions {
  /** Where the service is, without `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly post: HttpPost;
  /** Ends waiting between tries; calls under way are not ended. */
  readonly signal?: AbortSignal;
  /** Says why nothing moves. */
  readonly onWait?: (why: string) => void;
  readonly pace?: CallPace;
  /** Waits for so many ms. */
  readonly wait?: (durationMs: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** One call's body and the name under which it is counted once, however often it is sent. */
export interface ScoreCall {
  readonly body: string;
  readonly records: number;
  readonly idempotencyKey: string;
}

const mostRateLimitedTries = 100;
const mostFailedTries = 8;
const firstDelayMs = 500;
const longestDelayMs = 15_000;

/**
 * Sends batches to `POST /v1/score`, and again where that may help: after `rate_limited` when the service says so, after
 * `internal_error` and lost connections with growing, scattered delays, eight times at most.
 */
export class ScoreClient {
  private readonly url: URL;
  private readonly pace: CallPace;
  private readonly wait: NonNullable<ScoreClientOptions['wait']>;
  private hasEverAnswered = false;

  constructor(private readonly options: ScoreClientOptions) {
    this.url = new URL(`${options.baseUrl.replace(/\/+$/, '')}/v1/score`);
    this.pace = options.pace ?? new CallPace();
    this.wait =
      options.wait ??
      ((durationMs, signal) => pause(durationMs, undefined, signal === undefined ? {} : { signal }));
  }

  /**
   * The scores of one batch.
   * @throws CallRefused when sending it again does not help, or was tried often enough; AbortError when told to stop
   */
  async score(call: ScoreCall): Promise<ScoreReply> {
    let failedTries = 0;
    let limitedTries = 0;
    for (;;) {
      await this.pace.turn(this.options.signal);
      const answer = await this.send(call);
      if ('reply' in answer) return answer.reply;
      const { failure } = answer;
      if (failure.code === 'rate_limited') {
        limitedTries += 1;
        if (limitedTries >= mostRateLimitedTries) throw new CallRefused(failure);
        this.options.onWait?.('waiting for the rate limit');
        this.pace.holdFor(1000 * (failure.retryAfterSeconds ?? 1));
        continue;
      }
      failedTries += 1;
      if (!this.mayPass(failure) || failedTries >= mostFailedTries) throw new CallRefused(failure);
      const why = failure.status === 0 ? failure.message : failure.code;
      this.options.onWait?.(`trying again after: ${why}`);
      await this.wait(delayMs(failedTries, failure.retryAfterSeconds), this.options.signal);
    }
  }

  private async send({ body, records, idempotencyKey }: ScoreCall): Promise<ReturnType<typeof readReply>> {
    const headers = {
      authorization: `Bearer ${this.options.apiKey}`,
      'content-type': 'application/json',
      accept: 'application/json',
      'idempotency-key': idempotencyKey,
    };
    try {
      const reply = await this.options.post(this.url, { headers, body });
      this.hasEverAnswered = true;
      this.pace.learn(headerOf(reply, 'ratelimit-policy'));
      return readReply(reply, records);
    } catch (error) {
      return { failure: connectionFailure(error, this.url, this.hasEverAnswered) };
    }
  }

  /** Whether the same call may pass later. A service that has never answered is probably not there at all. */
  private mayPass({ status }: ApiFailure): boolean {
    return status === 0 ? this.hasEverAnswered : status >= 500;
  }
}

/** Doubles from half a second to 15 s, scattered over its upper half, and never before the service says. */
export function delayMs(failedTries: number, retryAfterSeconds = 0, random = Math.random()): number {
  const most = Math.min(longestDelayMs, firstDelayMs * 2 ** (failedTries - 1));
  return Math.max(1000 * retryAfterSeconds, most * (0.5 + random / 2));
}

function connectionFailure(error: unknown, url: URL, hasEverAnswered: boolean): ApiFailure {
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
  const said = messageOf(error);
  const hint = hasEverAnswered ? '' : '. Does the service run there? --url says where it is';
  return {
    code: 'no_connection',
    message: `no answer from ${url.origin}: ${said === '' ? 'the connection failed' : said}${said.includes(code.slice(2, -1)) ? '' : code}${hint}`,
    docsUrl: undefined,
    status: 0,
    requestId: undefined,
    retryAfterSeconds: undefined,
  };
}
