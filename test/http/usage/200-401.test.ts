import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { refused, scored } from '../../support/http/score-reply.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../support/service/workspace.js';
import { describeBadInputs } from '../bad-inputs/bad-input.js';
import { badUsageKeys } from '../bad-inputs/keys.js';
import { read, scoreSizes, scoresOf } from '../scores/history.js';

const lead = { company_size: 120, lead_source: 'Referral' };

describe('200 of GET /v1/usage', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  }, 'twoGateways');

  it('returns the usage of the key’s bucket with month and resets_at', async () => {
    const { usage } = scored(await own.score([lead, lead]));
    const { usage: tested } = scored(await own.score([lead], { key: own.test }));
    const now = new Date(service.clock.now());
    const month = now.toISOString().slice(0, 7);
    const resets_at = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString();
    expect(read(await own.call('/v1/usage'))).to.deep.equal({ ...usage, month, resets_at });
    expect(read(await own.call('/v1/usage', { key: own.test }))).to.deep.equal({
      ...tested,
      month,
      resets_at,
    });
    expect(usage).to.include({ current: 2, backstop: 20_000 });
    expect(tested).to.include({ current: 1, backstop: null });
  });

  it('returns 0 before the first score, and counts nothing itself', async () => {
    for (const _again of [1, 2]) expect(read(await own.call('/v1/usage'))).to.include({ current: 0 });
    expect(await own.ledgerSum()).to.equal(0);
  });
});

describeBadInputs('401 of GET /v1/usage', badUsageKeys);

describe('200 of the reading endpoints', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  }, 'twoGateways');

  it('returns 200 from every reading endpoint while scoring returns 402, 429, 409 or 403', async () => {
    await scoreSizes(own, { crmId: 'L-1', sizes: [10] });
    const past = new Date(service.clock.now() - 1_000);
    const states: [() => Promise<unknown>, `${number} ${string}`][] = [
      [() => own.change({ plan: 'trial', trial_ends_at: past }), '402 expired_read_only'],
      [() => own.change({ plan: 'free' }), '429 quota_exceeded'],
      [() => own.change({ plan: 'pro', policy: 'block' }), '409 deploy_blocked'],
      [() => own.changeModel(own.model._id, { live_api: false }), '403 api_disabled'],
    ];
    for (const [enter, as] of states) {
      await enter();
      for (const gateway of [0, 1]) {
        await eventually(async () => refused(await own.score([lead], { gateway }), as));
        for (const key of [own.live, own.test]) {
          for (const path of ['/v1/usage', '/v1/usage/daily', '/v1/models', `/v1/models/${own.model._id}`])
            read(await own.call(path, { gateway, key }));
        }
        read(await own.call(scoresOf('L-1'), { gateway }));
      }
    }
    expect((await own.call(scoresOf('L-1'), { method: 'DELETE' })).status).to.equal(204);
  });
});
