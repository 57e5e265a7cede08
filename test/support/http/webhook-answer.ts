import { expect } from 'chai';
import type { UsageReport } from '../../../shared/contract/plans.js';
import type { Verdict } from '../../../shared/contract/verdict.js';
import type { HttpReply } from './http-call.js';
import type { ScoreRow } from './score-reply.js';

/** The flat reply of a webhook. */
export interface WebhookAnswer extends ScoreRow {
  readonly model_id: string;
  readonly model_version: string;
  readonly usage: UsageReport;
  readonly validation: Verdict;
  readonly test?: boolean;
  readonly usage_remaining: string;
  readonly validation_state: string;
  readonly validation_summary: string;
  readonly input?: Readonly<Record<string, unknown>>;
  readonly outputFields?: Readonly<Record<string, unknown>>;
}

/** Asserts 200 and parses the reply of a webhook. */
export function scoredWebhook(reply: HttpReply): WebhookAnswer {
  expect(reply.status, reply.text.slice(0, 500)).to.equal(200);
  return JSON.parse(reply.text) as WebhookAnswer;
}
