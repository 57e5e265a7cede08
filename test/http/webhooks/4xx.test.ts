import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { refused } from '../../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { workspace } from '../../support/service/workspace.js';
import { describeBadInputs } from '../bad-inputs/bad-input.js';
import { badWebhookKeys } from '../bad-inputs/keys.js';
import { badWebhooks, refusedWebhooks } from '../bad-inputs/webhooks.js';

describeBadInputs('400 of POST /v1/webhooks/score', refusedWebhooks);
describeBadInputs('401 of POST /v1/webhooks/score', badWebhookKeys);
describeBadInputs('422 of POST /v1/webhooks/score', badWebhooks);

describe('422 of POST /v1/webhooks/score: Idempotency-Key', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });

  it('returns 422 when an Idempotency-Key is repeated with another query', async () => {
    const own = await workspace(service);
    const headers = { 'idempotency-key': randomUUID() };
    const send = (query = '') => {
      const body = { model_id: own.model._id, company_size: 120, lead_source: 'Referral' };
      return own.call(`/v1/webhooks/score${query}`, { headers, body });
    };
    const first = await send();
    refused(await send('?explain=1'), '422 bad_request');
    expect((await send()).text).to.equal(first.text);
  });
});
