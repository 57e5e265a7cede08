import type { HttpReply } from './http-connections.js';

/** One row of a reply. JSONL output also keeps members that are not listed here. */
export interface ScoreRow {
  readonly score: number;
  readonly conversion_likelihood: number;
  readonly enriched: boolean;
  readonly crm_id?: string;
  readonly previous_score?: number;
  readonly delta?: number;
  readonly warnings?: readonly string[];
  readonly top_reason_1?: string | null;
  readonly top_reason_2?: string | null;
  readonly top_reason_3?: string | null;
}

/** V1Usage. */
export interface ReplyUsage {
  readonly current: number;
  readonly limit: number;
  readonly remaining: number;
  readonly in_grace: boolean;
  readonly backstop: number | null;
}

/** V1Validation. */
export interface ReplyValidation {
  readonly state: string;
  readonly summary: string;
}

/** A failed call. `status` is 0 when there was no reply. */
export interface ApiFailure {
  /** `error.code`, or `unknown_reply` when the reply has no error envelope. */
  readonly code: string;
  readonly message: string;
  readonly docsUrl: string | undefined;
  readonly status: number;
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
}

/** The failure that a reply describes, in the error envelope of the API or otherwise. */
export function failureOf(reply: HttpReply): ApiFailure {
  const error = member(parse(reply.body), 'error');
  const code = member(error, 'code');
  const message = member(error, 'message');
  const docsUrl = member(error, 'docs_url');
  const retryAfter = Number(headerOf(reply, 'retry-after') ?? Number.NaN);
  return {
    code: typeof code === 'string' ? code : 'unknown_reply',
    message: typeof message === 'string' ? message : describeUnknown(reply),
    docsUrl: typeof docsUrl === 'string' ? docsUrl : undefined,
    status: reply.status,
    requestId: headerOf(reply, 'x-request-id'),
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : undefined,
  };
}

/** The value of a header, or undefined if it is missing or repeated. */
export function headerOf(reply: HttpReply, name: string): string | undefined {
  const value = reply.headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** Parses JSON; undefined when the text is invalid. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An own property of an object, or undefined. */
export function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, name)?.value;
}

function describeUnknown({ status, body }: HttpReply): string {
  const start = body.replace(/\s+/g, ' ').slice(0, 120);
  return `the reply is not from this API (status ${status}${start === '' ? '' : `: ${start}`}). Check --url`;
}
