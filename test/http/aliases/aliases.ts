import { expect } from 'chai';
import type { HttpReply } from '../../support/http/http-call.js';
import type { TestWorkspace } from '../../support/service/workspace.js';

export const lead = { company_size: 120, crm_id: 'L-1' };

/** The deprecated aliases with their successors. */
export const successors = { '/score': '/v1/score', '/webhooks/score': '/v1/webhooks/score' } as const;
export type Alias = keyof typeof successors;

/** A body for a batch endpoint or a webhook endpoint. */
export const bodyOf = (own: TestWorkspace, path: string, members: object = {}): object => ({
  model_id: own.model._id,
  ...(path.includes('webhooks') ? lead : { records: [lead, lead] }),
  ...members,
});

/** Asserts the deprecation headers. */
export function expectDeprecated(reply: HttpReply, alias: Alias): void {
  expect(Object.fromEntries(reply.headers)).to.include({
    deprecation: 'true',
    sunset: 'Mon, 19 Oct 2026 00:00:00 GMT',
    link: `<${successors[alias]}>; rel="successor-version"`,
  });
}
