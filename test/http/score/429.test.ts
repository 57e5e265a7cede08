import { expect } from 'chai';
import { rateWindowKey } from '../../../shared/redis/keys.js';
import { type HttpReply, onEachGateway } from '../../support/http/http-call.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { describeBadInputs } from '../bad-inputs/bad-input.js';
import { overQuota } from '../bad-inputs/records.js';

const lead = { company_size: 120 };

describeBadInputs('429 quota_exceeded of POST /v1/score', overQuota);

describe('429 quota_exceeded of POST /v1/score: changes of plan and limit', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('twoGateways');
  });

  const expectPaused = async (own: TestWorkspace): Promise<void> => {
    for (const gateway of [0, 1]) refused(await own.score([lead], { gateway }), '429 quota_exceeded');
  };

  it('returns 429 without Retry-After for a live key on the Free plan, because only an upgrade helps', async () => {
    const free = await workspace(service, { plan: 'free' });
    const reply = await free.score([lead]);
    const { message } = refused(reply, '429 quota_exceeded').error;
    expect(message).to.include('Free plan').and.include('An upgrade clears this, the next month does not');
    expect(reply.headers.get('retry-after')).to.equal(null);
  });

  it('returns 200 instead of 429 on both gateways within 2 s of a raised limit', async () => {
    const own = await workspace(service, { limit: 1 });
    scored(await own.score([lead, lead]));
    await expectPaused(own);
    await own.change({ limit: 10 });
    await onEachGateway(async (gateway) => {
      const { usage } = scored(await own.score([lead], { gateway }));
      expect(usage).to.include({ current: 3 + gateway, limit: 10, backstop: 20, in_grace: false });
    });
  });

  it('returns 429 on both gateways within 2 s of a limit lowered below the usage', async () => {
    const own = await workspace(service, { limit: 10 });
    scored(await own.score([lead, lead, lead]));
    for (const gateway of [0, 1]) scored(await own.score([lead], { gateway }));
    await own.change({ limit: 2 });
    await onEachGateway(async (gateway) => refused(await own.score([lead], { gateway }), '429 quota_exceeded'));
  });

  it('returns 200 with the new limit on both gateways within 2 s of an upgrade from Free', async () => {
    const own = await workspace(service, { plan: 'free' });
    await expectPaused(own);
    await own.change({ plan: 'enterprise' });
    await onEachGateway(async (gateway) => {
      const { usage } = scored(await own.score([lead], { gateway }));
      expect(usage).to.include({ current: 1 + gateway, limit: 30_000, backstop: 60_000 });
    });
  });
});

describe('429 rate_limited of the scoring endpoints', () => {
  let service: RunningService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('twoGateways');
    own = await workspace(service);
  });

  /** The reply to a call with a key that took its ten slots `agoMs` ago. */
  async function eleventhCall(agoMs: number, path: string): Promise<HttpReply> {
    const key = await own.addKey('test', { rate: 10 });
    const [seconds = 0, micros = 0] = (await service.redis.time()).map(Number);
    const atUs = 1_000_000 * seconds + micros - 1_000 * agoMs;
    const slots = Array.from({ length: 10 }, (_, slot) => [atUs, `call ${slot}`]).flat();
    await service.redis.zadd(rateWindowKey(own.id, key.key._id, 'scoring'), ...slots);
    return await own.call(path, { key, body: '{' });
  }

  for (const path of ['/v1/score', '/v1/webhooks/score', '/score', '/webhooks/score']) {
    it(`returns 429 with Retry-After for the 11th call to ${path} within a sliding second`, async () => {
      for (const agoMs of [0, 600]) {
        const reply = await eleventhCall(agoMs, path);
        const { message } = refused(reply, '429 rate_limited').error;
        expect(message).to.equal(
          'More than 10 calls within a second, which is the limit of this key alone: slow down and retry. ' +
            'An administrator can give the key a higher rate.',
        );
        expect(reply.headers.get('retry-after')).to.equal('1');
      }
      refused(await eleventhCall(1_001, path), '422 bad_request');
    });
  }
});
