import { messageOf } from '../../../shared/contract/errors.js';
import type { ApiFailure } from './api-reply.js';

const minDelayMs = 500;
const maxDelayMs = 15_000;

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
