import { gzipSync } from 'node:zlib';
import type { Hostile } from './hostile.js';
import type { AnswerName } from './messages.js';

/** One kind of hostile caller. It has the keys of a new trial organisation and keeps to their rates. */
export interface Attack {
  readonly name: string;
  /** One sentence for the reader of the report. */
  readonly does: string;
  /** The answers that the service may give. Any other breaks a promise. */
  readonly answers: readonly AnswerName[];
  /** Attacks until the time is over. Resolves when each complete call is answered. */
  readonly run: (hostile: Hostile) => Promise<void>;
}

/** Answers that an attack with a key may always get. */
export const slowDown = ['429 rate_limited', '429 quota_exceeded'] as const;
/** Answers to a body that is refused. */
export const refused = ['400 bad_request', '422 bad_request'] as const;

/** A JSON body. */
export const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** A JSON body as gzip. Attacks make it once: its cost would delay their calls. */
export const gzipped = (value: unknown): Buffer =>
  gzipSync(typeof value === 'string' || Buffer.isBuffer(value) ? value : JSON.stringify(value));
