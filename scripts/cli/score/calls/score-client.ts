import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../../../shared/contract/errors.js';
import { type ApiFailure, headerOf, readReply, type ScoreReply } from './api-reply.js';
import type { HttpPost } from './http-connections.js';

/** A call failed and a retry will not help, or all retries have failed. */
export class CallRefused extends Error {
  override readonly name = 'CallRefused';

  /** @param mayBeCounted whether the service may have counted the call nevertheless */
  constructor(
    readonly failure: ApiFailure,
    readonly mayBeCounted: boolean,
  ) {
    super(failure.message);
  }
}

export interface ScoreClientOptions {
  /** Address of the service, without `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly post: HttpPost;
  /** Aborts waiting between attempts, but not calls in flight. */
  readonly signal?: AbortSignal;
  /** Called with the reason before each wait. */
  readonly onWait?: (why: string) => void;
  readonly pace?: CallPace;
  /** Sleeps for `durationMs`; replaced in tests. */
  readonly wait?: (durationMs: number, signal: AbortSignal | undefined) => Promise<void>;
}

export interface ScoreCall {
  readonly body: string;
  readonly records: number;
  readonly idempotencyKey: string;
  /** An earlier run has sent the call and got no reply. */
  readonly wasSent?: boolean;
}

const maxRateLimitedAttempts = 100;
const maxFailedAttempts = 8; // about 45 s of delays
const minDelayMs = 500;
const maxDelayMs = 15_000;

/**
 * Sends batches to `POST /v1/score` with retries:
 * - after `rate_limited`, when `Retry-After` has passed
 * - after 5xx and lost connections, with exponential backoff and jitter, in at most eight attempts
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
      options.wait ?? ((durationMs, signal) => pause(durationMs, undefined, signal === undefined ? {} : { signal }));
  }

  /** @throws CallRefused when retries do not help or are exhausted; AbortError when the run is stopped */
  async score(call: ScoreCall): Promise<ScoreReply> {
    let failedAttempts = 0;
    let limitedAttempts = 0;
    let mayBeCounted = call.wasSent === true;
    for (;;) {
      await this.pace.acquire(this.options.signal);
      const answer = await this.send(call);
      if ('reply' in answer) return answer.reply;
      const { failure } = answer;
      mayBeCounted = mayBeCountedAfter(failure, mayBeCounted);
      if (failure.code === 'rate_limited') {
        limitedAttempts += 1;
        if (limitedAttempts >= maxRateLimitedAttempts) throw new CallRefused(failure, mayBeCounted);
        this.options.onWait?.('waiting for the rate limit');
        this.pace.holdFor(1000 * (failure.retryAfterSeconds ?? 1));
        continue;
      }
      failedAttempts += 1;
      if (!this.isRetryable(failure) || failedAttempts >= maxFailedAttempts)
        throw new CallRefused(failure, mayBeCounted);
      const why = failure.status === 0 ? failure.message : failure.code;
      this.options.onWait?.(`retrying after: ${why}`);
      await this.wait(delayMs(failedAttempts, failure.retryAfterSeconds), this.options.signal);
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
      this.pace.readPolicy(headerOf(reply, 'ratelimit-policy'));
      return readReply(reply, records);
    } catch (error) {
      return { failure: connectionFailure(error, this.url, this.hasEverAnswered) };
    }
  }

  /** A lost connection is retried only if the service has answered before: otherwise the URL is probably wrong. */
  private isRetryable({ status }: ApiFailure): boolean {
    return status === 0 ? this.hasEverAnswered : status >= 500;
  }
}

/** The codes of calls that the service refuses only after it has looked for a stored reply under their key. */
const refusedAfterReplay = new Set([
  'record_limit_exceeded',
  'expired_read_only',
  'quota_exceeded',
  'model_not_found',
  'api_disabled',
  'deploy_blocked',
]);

/** @param before whether an earlier attempt may have been counted */
function mayBeCountedAfter({ code, status, message }: ApiFailure, before: boolean): boolean {
  // A record that is refused now was refused before. Another bad_request may be about the transfer of this attempt.
  const isOfRecord = code === 'bad_request' && message.startsWith('records[');
  if (status >= 400 && status < 500) return before && !isOfRecord && !refusedAfterReplay.has(code);
  // A lost reply, or one that a proxy has replaced.
  return true;
}

/** Backoff doubles from 0.5 to 15 s with a jitter of up to half. It is never shorter than `Retry-After`. */
export function delayMs(failedAttempts: number, retryAfterSeconds = 0, random = Math.random()): number {
  const backoffMs = Math.min(maxDelayMs, minDelayMs * 2 ** (failedAttempts - 1));
  return Math.max(1000 * retryAfterSeconds, backoffMs * (0.5 + random / 2));
}

/** The failure of a call without an answer. @param hasEverAnswered if not, the address is probably wrong */
export function connectionFailure(error: unknown, url: URL, hasEverAnswered: boolean): ApiFailure {
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
  const text = messageOf(error);
  const hint = hasEverAnswered ? '' : '. Check --url, and that the service is running';
  return {
    code: 'no_connection',
    message: `no answer from ${url.origin}: ${text === '' ? 'the connection failed' : text}${text.includes(code.slice(2, -1)) ? '' : code}${hint}`,
    docsUrl: undefined,
    status: 0,
    requestId: undefined,
    retryAfterSeconds: undefined,
  };
}

/** Added to the server's window, because network delay varies and each 429 costs a second. */
const marginMs = 80;

/**
 * Limits the rate of calls on the client side, so that the service does not have to refuse them.
 * - Reads the key's rate from the RateLimit-Policy header of any reply.
 * - Starts at most that many calls in any window.
 * - Pauses after a 429 until the time in `Retry-After`.
 */
export class CallPace {
  private policy: { readonly calls: number; readonly windowMs: number } | undefined;
  /** Start times of the calls in the current window, ms. */
  private startedMs: number[] = [];
  private notBeforeMs = 0;

  /** @param now ms of a monotonic clock */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Reads the key's rate from a header such as `"key";q=10;w=1`. Ignores any other value. */
  readPolicy(header: string | string[] | undefined): void {
    const found = typeof header === 'string' ? /;\s*q=(\d+)\s*;\s*w=(\d+)/.exec(header) : null;
    const calls = Number(found?.[1]);
    const seconds = Number(found?.[2]);
    if (calls > 0 && seconds > 0) this.policy = { calls, windowMs: 1000 * seconds + marginMs };
  }

  holdFor(durationMs: number): void {
    this.notBeforeMs = Math.max(this.notBeforeMs, this.now() + durationMs);
  }

  /** Waits until a call may start, and counts it. Rejects when `signal` is aborted. */
  async acquire(signal?: AbortSignal): Promise<void> {
    for (;;) {
      const waitMs = this.waitMs();
      if (waitMs <= 0) break;
      await pause(Math.ceil(waitMs), undefined, signal === undefined ? {} : { signal });
    }
    this.startedMs.push(this.now());
  }

  /** Ms until a call may start; 0 or negative means now. */
  waitMs(): number {
    const nowMs = this.now();
    const holdMs = this.notBeforeMs - nowMs;
    const { policy } = this;
    if (policy === undefined) return holdMs;
    this.startedMs = this.startedMs.filter((atMs) => atMs > nowMs - policy.windowMs);
    const blockingMs = this.startedMs.at(-policy.calls);
    return blockingMs === undefined ? holdMs : Math.max(holdMs, blockingMs + policy.windowMs - nowMs);
  }
}
