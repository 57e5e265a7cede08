import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import type { HttpReply } from '../../support/http/http-call.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, type WorkspaceOptions, workspace } from '../../support/service/workspace.js';
import type { UsableKey } from '../../support/service/workspace-parts.js';
import { countedAtRest, nothingCounted } from './counted.js';

const lead = { company_size: 120 };
const leads = (count: number) => Array.from({ length: count }, () => lead);
const gateways = [0, 1];

/** A failing call, and the state of the workspace that makes it fail. */
interface Failure {
  readonly as: `${number} ${string}`;
  readonly what: string;
  /** Options of the workspace. */
  readonly options?: WorkspaceOptions;
  /** Runs after some calls were counted. */
  readonly prepare?: (own: TestWorkspace) => Promise<void>;
  readonly call: (own: TestWorkspace, by: { key: UsableKey; gateway: number }) => Promise<HttpReply>;
}

const changed = (fields: Parameters<TestWorkspace['change']>[0]) => (own: TestWorkspace) => own.change(fields);

const failures: readonly Failure[] = [
  {
    as: '401 invalid_api_key',
    what: 'an unknown key',
    call: (own, by) => own.score([lead], { ...by, headers: { authorization: 'Bearer leadscore_sk_unknown' } }),
  },
  {
    as: '422 bad_request',
    what: 'a body that is not JSON',
    call: (own, by) => own.post('{"model_id":', by),
  },
  {
    as: '422 bad_request',
    what: 'a body that breaks the schema',
    call: (own, by) => own.score([{ ...lead, crm_id: null }], by),
  },
  {
    as: '422 bad_request',
    what: 'an Idempotency-Key that is too long',
    call: (own, by) => own.score([lead], { ...by, headers: { 'idempotency-key': 'k'.repeat(256) } }),
  },
  { as: '400 bad_request', what: 'an empty batch', call: (own, by) => own.score([], by) },
  {
    as: '400 record_limit_exceeded',
    what: '1001 records',
    call: (own, by) => own.score(leads(1001), by),
  },
  {
    as: '402 workspace_suspended',
    what: 'a suspended organisation',
    prepare: changed({ suspended: { at: new Date(0), by: 'Olga', reason: 'not paid' } }),
    call: (own, by) => own.score([lead], by),
  },
  {
    as: '402 expired_read_only',
    what: 'an ended trial',
    prepare: changed({ plan: 'trial', trial_ends_at: new Date(0) }),
    call: (own, by) => own.score([lead], by),
  },
  {
    as: '404 model_not_found',
    what: 'an unknown model',
    call: (own, by) => own.score([lead], { ...by, modelId: 'mdl_unknown' }),
  },
  {
    as: '403 api_disabled',
    what: 'a model whose Live API is off',
    prepare: (own) => own.changeModel(own.model._id, { live_api: false }),
    call: (own, by) => own.score([lead], by),
  },
  {
    as: '409 deploy_blocked',
    what: 'a model under policy block',
    prepare: changed({ policy: 'block' }),
    call: (own, by) => own.score([lead], by),
  },
  {
    as: '429 quota_exceeded',
    what: 'a batch that would pass the stop',
    options: { limit: 5 },
    call: (own, by) => own.score(leads(by.key === own.test ? 998 : 8), by),
  },
  {
    as: '400 bad_request',
    what: 'a record that cannot be featurized',
    call: (own, by) => own.score([lead, { company_size: {} }], by),
  },
  {
    as: '400 bad_request',
    what: 'one invalid record among 299 valid ones',
    call: (own, by) => own.score([...leads(299), { company_size: {} }], by),
  },
];

describe('failed calls of POST /v1/score', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('twoGateways');
  });

  for (const { as, what, options, prepare, call } of failures) {
    it(`counts nothing of a call with either key that returns ${as}: ${what}`, async () => {
      const own = await workspace(service, options);
      for (const key of [own.live, own.test])
        scored(await own.score([lead, lead, { ...lead, crm_id: 'L-1' }], { key }));
      await prepare?.(own);
      for (const gateway of gateways)
        await eventually(async () => refused(await call(own, { key: own.live, gateway }), as));
      const before = await countedAtRest(own);
      expect(before.live).to.be.at.least(3);
      for (const key of [own.live, own.test])
        for (const gateway of gateways) refused(await call(own, { key, gateway }), as);
      expect(await countedAtRest(own)).to.deep.equal(before);
    });
  }

  it('counts nothing of a call with a live key on the Free plan', async () => {
    const own = await workspace(service, { plan: 'free' });
    refused(await own.score([lead]), '429 quota_exceeded');
    expect(await countedAtRest(own)).to.deep.equal(nothingCounted);
  });

  it('counts nothing of calls that return 429 rate_limited', async () => {
    const own = await workspace(service);
    const key = await own.addKey('live', { rate: 2 });
    const replies = await Promise.all(Array.from({ length: 30 }, () => own.score([lead], { key })));
    const accepted = replies.filter((reply) => reply.status === 200);
    for (const reply of replies) if (reply.status !== 200) refused(reply, '429 rate_limited');
    const count = accepted.length;
    expect(await countedAtRest(own)).to.deep.equal({
      live: count,
      test: 0,
      calls: count,
      predictions: count,
    });
  });

  it('releases the reservation of a failed call before the next call', async () => {
    const own = await workspace(service, { limit: 50 });
    refused(await own.score([...leads(99), { company_size: {} }]), '400 bad_request');
    expect(await countedAtRest(own)).to.deep.equal(nothingCounted);
    expect(scored(await own.score(leads(100))).usage.current).to.equal(100);
  });
});
