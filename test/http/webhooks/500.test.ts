import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import type { HttpReply } from '../../support/http/http-call.js';
import { refused } from '../../support/http/score-reply.js';
import { scoredWebhook } from '../../support/http/webhook-answer.js';
import { runningService, startTimeoutMs } from '../../support/service/service.js';
import { workspace } from '../../support/service/workspace.js';

const path = '/v1/webhooks/score';
const lead = { company_size: 120, lead_source: 'Referral' };

describe('500 of POST /v1/webhooks/score and POST /v1/score', () => {
  it('returns an uncounted 500 after WEBHOOK_TIMEOUT_MS or REQUEST_TIMEOUT_MS when no worker takes the call', async function () {
    this.timeout(startTimeoutMs);
    const environment = { WEBHOOK_TIMEOUT_MS: '700', REQUEST_TIMEOUT_MS: '2500' };
    const alone = await runningService({ gateways: 1, environment });
    try {
      const waiting = await workspace(alone);
      const body = { model_id: waiting.model._id, ...lead };
      // The first call loads the model, which may exceed the short timeout of this test.
      await eventually(async () => scoredWebhook(await waiting.call(path, { body })), 15_000);
      await alone.stack.pool.stop();
      const startMs = performance.now();
      const timed = async (reply: Promise<HttpReply>) => ({
        reply: await reply,
        ms: performance.now() - startMs,
      });
      const [webhook, batch] = await Promise.all([
        timed(waiting.call(path, { body })),
        timed(waiting.score([lead, lead])),
      ]);
      // Each limit is its own: a busy machine may delay an answer, but not until the other limit.
      expect(webhook.ms).to.be.within(650, 2_450);
      expect(batch.ms).to.be.within(2_450, 8_000);
      for (const { reply } of [webhook, batch]) {
        refused(reply, '500 internal_error');
        expect(reply.headers.get('retry-after')).to.equal('1');
      }
      await eventually(async () => {
        expect(await waiting.redisUsage()).to.deep.equal({ used: 1, leased: 0 });
      });
      expect(await waiting.ledgerSum()).to.equal(1);
    } finally {
      await alone.stop();
    }
  });
});
