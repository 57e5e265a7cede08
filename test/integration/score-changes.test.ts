import { expect } from 'chai';
import { publishChange } from '../../shared/redis/changes.js';
import { eventually } from '../support/eventually.js';
import { refused, scored } from '../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { workspace } from '../support/service/workspace.js';

const lead = { company_size: 120 };
const gateways = [0, 1];

/** Well below the five seconds for which a gateway remembers keys and organisations. */
const atOnceMs = 2_000;

describe('POST /v1/score: what changes is seen at once by every gateway', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });

  it('a key that is revoked is refused, and the other keys are not', async () => {
    const own = await workspace(service);
    const key = await own.addKey('live');
    for (const gateway of gateways) scored(await own.score([lead], { key, gateway }));
    await own.revoke(key);
    for (const gateway of gateways) {
      await eventually(async () => {
        const reply = await own.score([lead], { key, gateway });
        expect(refused(reply, '401 invalid_api_key').error.message).to.include('revoked');
        expect(reply.headers.get('www-authenticate')).to.equal('Bearer');
      }, atOnceMs);
      scored(await own.score([lead], { gateway }));
      scored(await own.score([lead], { gateway, key: own.test }));
    }
  });

  it('a limit that is raised lets a paused organisation score on', async () => {
    const own = await workspace(service, { limit: 1 });
    scored(await own.score([lead, lead]));
    for (const gateway of gateways) refused(await own.score([lead], { gateway }), '429 quota_exceeded');
    await own.change({ limit: 10 });
    for (const gateway of gateways) {
      const { usage } = await eventually(async () => scored(await own.score([lead], { gateway })), atOnceMs);
      expect(usage).to.include({ current: 3 + gateway, limit: 10, backstop: 20, in_grace: false });
    }
  });

  it('a limit that is lowered below what is used pauses it, and says what is left', async () => {
    const own = await workspace(service, { limit: 10 });
    scored(await own.score([lead, lead, lead]));
    for (const gateway of gateways) scored(await own.score([lead], { gateway }));
    await own.change({ limit: 2 });
    for (const gateway of gateways) {
      await eventually(
        async () => refused(await own.score([lead], { gateway }), '429 quota_exceeded'),
        atOnceMs,
      );
    }
  });

  it('a plan that is upgraded from Free gives the live key its quota, with what it used', async () => {
    const own = await workspace(service, { plan: 'free' });
    for (const gateway of gateways) refused(await own.score([lead], { gateway }), '429 quota_exceeded');
    await own.change({ plan: 'enterprise' });
    for (const gateway of gateways) {
      const { usage } = await eventually(async () => scored(await own.score([lead], { gateway })), atOnceMs);
      expect(usage).to.include({ current: 1 + gateway, limit: 30_000, backstop: 60_000 });
    }
  });

  it('a subscription ends the read-only state of a trial', async () => {
    const own = await workspace(service, { plan: 'trial', trialEndsAt: new Date(service.clock.now() - 1) });
    for (const gateway of gateways) refused(await own.score([lead], { gateway }), '402 expired_read_only');
    await own.change({ plan: 'pro' });
    for (const gateway of gateways)
      await eventually(async () => scored(await own.score([lead], { gateway })), atOnceMs);
  });

  it('a model that is deleted is unknown', async () => {
    const own = await workspace(service);
    for (const gateway of gateways) scored(await own.score([lead], { gateway }));
    await own.changeModel(own.model._id, { deleted_at: new Date(service.clock.now()) });
    for (const gateway of gateways)
      await eventually(
        async () => refused(await own.score([lead], { gateway }), '404 model_not_found'),
        atOnceMs,
      );
  });

  it('a model whose Live API is switched off and on again', async () => {
    const own = await workspace(service);
    for (const gateway of gateways) scored(await own.score([lead], { gateway }));
    await own.changeModel(own.model._id, { live_api: false });
    for (const gateway of gateways)
      await eventually(
        async () => refused(await own.score([lead], { gateway }), '403 api_disabled'),
        atOnceMs,
      );
    await own.changeModel(own.model._id, { live_api: true });
    for (const gateway of gateways)
      await eventually(async () => scored(await own.score([lead], { gateway })), atOnceMs);
  });

  it('a policy that becomes block refuses a model that has not passed', async () => {
    const own = await workspace(service);
    for (const gateway of gateways) scored(await own.score([lead], { gateway }));
    await own.change({ policy: 'block' });
    for (const gateway of gateways)
      await eventually(
        async () => refused(await own.score([lead], { gateway }), '409 deploy_blocked'),
        atOnceMs,
      );
  });

  it('and words on the channel that are no change do no harm', async () => {
    const own = await workspace(service);
    scored(await own.score([lead]));
    for (const text of [
      '',
      '{',
      'null',
      '[]',
      '{"kind":"key"}',
      '{"kind":"planet","id":"x"}',
      '{"kind":"key","id":7}',
    ])
      await service.redis.publish('leadscore:changes', text);
    await publishChange(service.redis, { kind: 'key', id: 'unknown' });
    for (const gateway of gateways) scored(await own.score([lead], { gateway }));
  });
});
