import { expect } from 'chai';
import { onEachGateway } from '../../support/http/http-call.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../support/service/service.js';
import { workspace } from '../../support/service/workspace.js';

const lead = { company_size: 120 };

describe('402 of POST /v1/score', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('twoGateways');
  });

  const endedTrial = () => workspace(service, { plan: 'trial', trialEndsAt: new Date(service.clock.now() - 1_000) });

  it('returns 402 without Retry-After for both keys after a trial', async () => {
    const ended = await endedTrial();
    for (const key of [ended.live, ended.test]) {
      const reply = await ended.score([lead], { key });
      refused(reply, '402 expired_read_only');
      expect(reply.headers.get('retry-after')).to.equal(null);
    }
  });

  it('returns 200 instead of 402 on both gateways within 2 s of a subscription', async () => {
    const own = await endedTrial();
    for (const gateway of [0, 1]) refused(await own.score([lead], { gateway }), '402 expired_read_only');
    await own.change({ plan: 'pro' });
    await onEachGateway(async (gateway) => scored(await own.score([lead], { gateway })));
  });
});
