import type { Context, Middleware } from 'koa';
import { type Authenticator, authenticateWebhook } from '../auth/authenticate.js';
import { scoreReplyWriter, sendReply } from '../call/score-reply.js';
import type { AnswerCall, ArrivedCall, ScoringRoute } from '../large-calls/arrived-call.js';
import type { LargeCalls } from '../large-calls/large-calls.js';
import { requireJson } from '../request/content-type.js';
import { type LargeBodies, largeBytes } from '../request/large-bodies.js';
import { type ReceivingDeps, receiveCall } from '../request/receive-call.js';
import type { ScoringDeps } from '../score-records.js';
import { webhookForm } from '../webhook/body.js';
import { batchAnswer } from './score.js';
import { webhookAnswer } from './webhook-score.js';

export type ScoringAnswers = Readonly<Record<ScoringRoute, AnswerCall>>;

/** Answers the calls of every route that scores records. */
export const scoringAnswers = (deps: ScoringDeps): ScoringAnswers => ({
  '/v1/score': batchAnswer(deps, scoreReplyWriter('conversion_likelihood')),
  '/v1/webhooks/score': webhookAnswer(deps, '/v1/webhooks/score', 'conversion_likelihood'),
  '/score': batchAnswer(deps, scoreReplyWriter('probability')),
  '/webhooks/score': webhookAnswer(deps, '/webhooks/score', 'probability'),
});

export interface ScoringRouteDeps {
  readonly keys: Authenticator;
  readonly receiving: ReceivingDeps;
  /** Limits the large calls of routes that do not score. */
  readonly largeBodies: LargeBodies;
  readonly largeCalls: LargeCalls;
  readonly answers: ScoringAnswers;
  readonly requestTimeoutMs: number;
  readonly webhookTimeoutMs: number;
}

/** `POST /v1/score`: scores up to 1000 records with one model. */
export const scoreRoute =
  (deps: ScoringRouteDeps, route: ScoringRoute): Middleware =>
  async (context) => {
    const { keys, receiving, requestTimeoutMs: timeoutMs } = deps;
    const authenticate = () => keys.authenticate(context.req);
    const received = await receiveCall(context, receiving, { authenticate, timeoutMs, route });
    requireJson(context);
    await answer(context, { route, received, form: { isForm: false, encoding: 'utf-8' } }, deps);
  };

/** `POST /v1/webhooks/score`: one record, in the format of a CRM or automation tool. */
export const webhookScoreRoute =
  (deps: ScoringRouteDeps, route: ScoringRoute): Middleware =>
  async (context) => {
    const { keys, receiving, webhookTimeoutMs: timeoutMs } = deps;
    const authenticate = () => authenticateWebhook(context.req, keys);
    // Settings in the query are part of the call.
    const withQuery = `${route}?${context.querystring}`;
    const received = await receiveCall(context, receiving, { authenticate, timeoutMs, route: withQuery });
    await answer(context, { route, received, form: webhookForm(context) }, deps);
  };

/** Answers a large call in its thread, so that small ones do not wait for it. */
async function answer(
  context: Context,
  { route, ...arrived }: Pick<ArrivedCall, 'received' | 'form'> & { readonly route: ScoringRoute },
  { largeCalls, answers }: ScoringRouteDeps,
): Promise<void> {
  const call = { ...arrived, requestId: String(context.state.requestId), querystring: context.querystring };
  const isLarge = call.received.body.length >= largeBytes;
  const { reply, scored } = await (isLarge ? largeCalls.answer(route, call) : answers[route](call));
  context.state.scored = scored;
  await sendReply(context, reply);
}
