import { expect } from 'chai';
import type { UsageBucket } from '../../shared/redis/keys.js';
import { eventually } from '../support/eventually.js';
import type { HttpReply } from '../support/http/http-call.js';
import { refused, scored } from '../support/http/score-reply.js';
import { sampleBundle } from '../support/models/sample-bundle.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, type WorkspaceOptions, workspace } from '../support/service/workspace.js';
import type { UsableKey } from '../support/service/workspace-parts.js';

const lead = { company_size: 120 };
const leads = (count: number) => Array.from({ length: count }, () => lead);
const gateways = [0, 1];

/** A way to fail: how the workspace becomes such that a call fails, and the call. */
interface Failure {
  readonly as: `${number} ${string}`;
  readonly what: string;
  /** Of the workspace, from its making on. */
  readonly options?: WorkspaceOptions;
  /** After some calls have been counted. */
  readonly prepare?: (own: TestWorkspace) => Promise<void>;
  readonly call: (own: TestWorkspace, by: { key: UsableKey; gateway: number }) => Promise<HttpReply>;
}

const changed = (fields: Parameters<TestWorkspace['change']>[0]) => (own: TestWorkspace) =>
  own.change(fields);

const failures: readonly Failure[] = [
  {
    as: '401 invalid_api_key',
    what: 'an unknown key',
    call: (own, by) =>
      own.score([lead], { ...by, headers: { authorization: 'Bearer leadscore_sk_unknown' } }),
  },
  {
    as: '422 bad_request',
    what: 'a body that is no JSON',
    call: (own, by) => own.post('{"model_id":', by),
  },
  {
    as: '422 bad_request',
    what: 'a body that does not fit the schema',
    call: (own, by) => own.score([{ ...lead, crm_id: null }], by),
  },
  {
    as: '422 bad_request',
    what: 'an Idempotency-Key that is too long',
    call: (own, by) => own.score([lead], { ...by, headers: { 'idempotency-key': 'k'.repeat(256) } }),
  },
  { as: '400 bad_request', what: 'no records', call: (own, by) => own.score([], by) },
  {
    as: '400 record_limit_exceeded',
    what: '1001 records',
    call: (own, by) => own.score(leads(1001), by),
  },
  {
    as: '402 expired_read_only',
    what: 'a trial that has ended',
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
    what: 'a model that the policy blocks',
    prepare: changed({ policy: 'block' }),
    call: (own, by) => own.score([lead], by),
  },
  {
    as: '429 quota_exceeded',
    what: 'a batch that would cross the stop',
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
    what: 'one such record among 299 good ones',
    call: (own, by) => own.score([...leads(299), { company_size: {} }], by),
  },
];

describe('POST /v1/score: a call that fails is not counted', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });

  for (const { as, what, options, prepare, call } of failures) {
    it(`by either key: ${as}, ${what}`, async () => {
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

  it('by a live key on the Free plan', async () => {
    const own = await workspace(service, { plan: 'free' });
    refused(await own.score([lead]), '429 quota_exceeded');
    expect(await countedAtRest(own)).to.deep.equal(nothing);
  });

  it('with 429 rate_limited, however many are refused', async () => {
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

  it('with 500 internal_error, when the model’s version is not stored', async () => {
    const own = await workspace(service);
    await service.stores.models.update(own.model._id, { version: 'never imported' });
    const reply = await own.score([lead]);
    refused(reply, '500 internal_error');
    expect(reply.headers.get('retry-after')).to.match(/^[1-9]\d*$/);
    expect(await countedAtRest(own)).to.deep.equal(nothing);
  });

  it('with 500 internal_error, when the model’s file has gone, after its records were held', async () => {
    const own = await workspace(service, { bundle: sampleBundle({ name: 'A score without a file' }) });
    await service.stores.database.collection('bundles.chunks').deleteMany({
      files_id: { $in: await fileIdsOf(own) },
    });
    refused(await own.score([lead]), '500 internal_error');
    refused(await own.score([lead, lead]), '500 internal_error');
    expect(await countedAtRest(own)).to.deep.equal(nothing);
  });

  it('and what it held is free at once for the next call', async () => {
    const own = await workspace(service, { limit: 50 });
    refused(await own.score([...leads(99), { company_size: {} }]), '400 bad_request');
    expect(await countedAtRest(own)).to.deep.equal(nothing);
    expect(scored(await own.score(leads(100))).usage.current).to.equal(100);
  });
});

const nothing = { live: 0, test: 0, calls: 0, predictions: 0 };

/** What is counted, in which ledger and Redis must agree, once what failed calls held has been given back. */
async function countedAtRest(own: TestWorkspace) {
  const [live, test] = await Promise.all([countedIn(own, 'live'), countedIn(own, 'test')]);
  const [calls, predictions] = await Promise.all([own.ledgerRows(), own.predictions()]);
  return { live, test, calls: calls.length, predictions: predictions.length };
}

async function countedIn(own: TestWorkspace, bucket: UsageBucket): Promise<number> {
  const used = await own.ledgerSum(bucket);
  await eventually(async () => {
    expect(await own.redisUsage(bucket), `${bucket} records in Redis`).to.deep.equal({ used, leased: 0 });
  });
  return used;
}

async function fileIdsOf(own: TestWorkspace): Promise<unknown[]> {
  const versions = own.service.stores.database.collection<{ files: Record<string, unknown> }>(
    'model_versions',
  );
  const found = await versions.find({ model_id: own.model._id }).toArray();
  return found.flatMap((version) => Object.values(version.files));
}
