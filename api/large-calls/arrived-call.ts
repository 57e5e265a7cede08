import type { Reply } from '../admission/idempotency.js';
import type { ReceivedCall } from '../request/receive-call.js';
import type { BodyForm } from '../webhook/body.js';

/** The routes that score records. */
export type ScoringRoute = '/v1/score' | '/v1/webhooks/score' | '/score' | '/webhooks/score';

/** A call to score records that passed authentication and rate limit: all that its answer depends on. */
export interface ArrivedCall {
  readonly received: ReceivedCall;
  readonly requestId: string;
  readonly querystring: string;
  /** Form and encoding of the body. */
  readonly form: BodyForm;
}

/** The answer to a call, with what the console counts of it. */
export interface Answer {
  readonly reply: Reply;
  readonly scored: { readonly modelId: string; readonly records: number };
}

/** Answers the calls of one route. @throws ApiError; CallerGone */
export type AnswerCall = (call: ArrivedCall) => Promise<Answer>;
