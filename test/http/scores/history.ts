import { expect } from 'chai';
import type { HttpReply } from '../../support/http/http-call.js';
import { scored } from '../../support/http/score-reply.js';
import type { TestWorkspace } from '../../support/service/workspace.js';

/** A page of the scores of a lead, latest first. */
export interface History {
  readonly crm_id: string;
  readonly scores: readonly Readonly<Record<string, unknown>>[];
  readonly next_cursor?: string;
}

/** Asserts 200 and the common headers, and parses the reply of a reading endpoint. */
export function read<Answer>(reply: HttpReply): Answer {
  expect(reply.status, reply.text.slice(0, 500)).to.equal(200);
  expect(reply.headers.get('content-type')).to.equal('application/json; charset=utf-8');
  expect(reply.headers.has('x-request-id')).to.equal(true);
  return JSON.parse(reply.text) as Answer;
}

/** The path of the scores of a lead. */
export const scoresOf = (crmId: string, query = ''): string => `/v1/scores/${encodeURIComponent(crmId)}${query}`;

/** Scores a lead once per company size, one call after the other. */
export async function scoreSizes(
  own: TestWorkspace,
  { crmId, sizes, modelId = own.model._id }: { crmId: string; sizes: readonly number[]; modelId?: string },
): Promise<void> {
  for (const company_size of sizes) scored(await own.score([{ company_size, crm_id: crmId }], { modelId }));
}
