import { ApiError, type ApiErrorOptions, type ErrorName, messageOf } from '../../shared/contract/errors.js';
import type { Lane } from '../../shared/contract/lanes.js';
import { CallerGone } from '../request/read-body.js';
import type { ReceivedCall } from '../request/receive-call.js';
import type { Answer, ArrivedCall, ScoringRoute } from './arrived-call.js';

/*
 * The messages between the gateway's main thread and its thread for large calls.
 */

/** An arrived call as it is sent. */
export interface SentCall {
  readonly route: ScoringRoute;
  readonly call: Omit<ArrivedCall, 'received'> & {
    /** With its deadline on the clock of both threads: each counts `performance.now()` from its own start. */
    readonly received: Omit<ReceivedCall, 'hasHungUp' | 'onHangUp' | 'body'> & { readonly body: Uint8Array };
  };
}

/** Ms from `performance.now()` of this thread to the clock of all threads. */
export const ownStartMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();

export type MessageToThread =
  | ({ readonly kind: 'call'; readonly id: number } & SentCall)
  | { readonly kind: 'hungUp'; readonly id: number }
  | { readonly kind: 'figures'; readonly id: number }
  | { readonly kind: 'stop' };

/** Figures of the thread, for the metrics of its gateway. */
export interface ThreadFigures {
  readonly chunksWaiting: Readonly<Record<Lane, number>>;
  readonly callsToVoid: number;
}

export type MessageFromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: SentAnswer }
  | { readonly kind: 'failure'; readonly id: number; readonly failure: SentFailure }
  | { readonly kind: 'figures'; readonly id: number; readonly figures: ThreadFigures };

/** The reply's body as UTF-8: the main thread sends it as it is. */
export type SentAnswer = Omit<Answer, 'reply'> & {
  readonly reply: { readonly body: Uint8Array; readonly isReplay: boolean };
};

/** A thrown value. Errors lose their class and members on their way. */
export type SentFailure =
  | { readonly kind: 'gone'; readonly message: string }
  | { readonly kind: 'other'; readonly cause: SentCause }
  | {
      readonly kind: 'refusal';
      readonly errorName: ErrorName;
      readonly message: string;
      readonly options: Omit<ApiErrorOptions, 'cause'>;
      readonly cause: SentCause | undefined;
    };

/** An error as the log shows it. */
interface SentCause {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string | undefined;
  readonly cause?: SentCause;
}

const maxCauses = 5;

/** @returns a value that the other thread can receive */
export function sentFailure(thrown: unknown): SentFailure {
  if (thrown instanceof CallerGone) return { kind: 'gone', message: thrown.message };
  if (!(thrown instanceof ApiError)) return { kind: 'other', cause: sentCause(thrown) };
  const { errorName, message } = thrown;
  const { cause, ...options } = thrown.options;
  return { kind: 'refusal', errorName, message, options, cause: cause === undefined ? undefined : sentCause(cause) };
}

/** The error of a message, to be thrown. */
export function thrownFailure(failure: SentFailure): Error {
  if (failure.kind === 'gone') return new CallerGone(failure.message);
  if (failure.kind === 'other') return errorOf(failure.cause);
  const { errorName, message, options, cause } = failure;
  return new ApiError(errorName, message, { ...options, ...(cause !== undefined && { cause: errorOf(cause) }) });
}

function sentCause(thrown: unknown, depth = 0): SentCause {
  if (!(thrown instanceof Error)) return { name: 'Error', message: messageOf(thrown) };
  const { name, message, stack, cause } = thrown;
  return {
    ...{ name, message, stack },
    ...('code' in thrown && { code: String(thrown.code) }),
    ...(cause !== undefined && depth < maxCauses && { cause: sentCause(cause, depth + 1) }),
  };
}

function errorOf({ message, cause, ...members }: SentCause): Error {
  const error = new Error(message, cause === undefined ? undefined : { cause: errorOf(cause) });
  return Object.assign(error, members);
}
