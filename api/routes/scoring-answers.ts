import type { AnswerCall, ScoringRoute } from '../call/arrived-call.js';
import { scoreReplyWriter } from '../call/score-reply.js';
import type { ScoringDeps } from '../score-records.js';
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
