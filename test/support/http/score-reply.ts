import { expect } from 'chai';
import type { UsageReport } from '../../../shared/contract/plans.js';
import type { Verdict } from '../../../shared/contract/verdict.js';
import type { HttpReply } from './http-call.js';

/** V1ScoreRow of the OpenAPI document. */
export interface ScoreRow {
  readonly score: number;
  readonly conversion_likelihood: number;
  readonly enriched: boolean;
  readonly crm_id?: string;
  readonly previous_score?: number;
  readonly delta?: number;
  readonly warnings?: readonly string[];
}

/** V1ScoreResponse of the OpenAPI document. */
export interface ScoreAnswer {
  readonly model_id: string;
  readonly model_version: string;
  readonly scores: readonly ScoreRow[];
  readonly records_scored: number;
  readonly cache_hits: number;
  readonly usage: UsageReport;
  readonly validation: Verdict;
  readonly test?: boolean;
}

/** V1Error of the OpenAPI document. */
export interface ErrorAnswer {
  readonly error: { readonly code: string; readonly message: string; readonly docs_url: string };
  readonly validation?: Verdict;
}

/** Asserts 200 and parses the reply. */
export function scored(reply: HttpReply): ScoreAnswer {
  expect(reply.status, reply.text.slice(0, 500)).to.equal(200);
  return JSON.parse(reply.text) as ScoreAnswer;
}

/** Asserts 200 and a single row, and returns the row. */
export function scoredRow(reply: HttpReply): ScoreRow {
  const { scores } = scored(reply);
  const [row] = scores;
  expect(scores).to.have.length(1);
  if (row === undefined) throw new Error('the reply has no row');
  return row;
}

/**
 * Asserts status, code and error envelope, and parses the reply.
 * @param as status and code, such as `'429 quota_exceeded'`
 */
export function refused(reply: HttpReply, as: `${number} ${string}`): ErrorAnswer {
  const answer = JSON.parse(reply.text) as ErrorAnswer;
  expect(`${reply.status} ${answer.error?.code}`, reply.text.slice(0, 500)).to.equal(as);
  expect(answer.error).to.have.all.keys('code', 'message', 'docs_url');
  expect(answer.error.message).to.be.a('string').and.not.equal('');
  expect(answer.error.docs_url).to.match(new RegExp(`^http.+/docs/errors#${answer.error.code}$`));
  return answer;
}
