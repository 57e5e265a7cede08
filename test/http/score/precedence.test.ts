import { expect } from 'chai';
import { newId } from '../../../shared/contract/identifiers.js';
import { eventually } from '../../support/eventually.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type SentRecord, type WorkspaceOptions, workspace } from '../../support/service/workspace.js';

const lead = { company_size: 120 };
const badRecord = { company_size: {} };
const many: readonly SentRecord[] = Array.from({ length: 1001 }, () => lead);
const noModel = newId('mdl');

describe('precedence of the errors of POST /v1/score', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });

  const expired = (): WorkspaceOptions => ({ plan: 'trial', trialEndsAt: new Date(service.clock.now() - 1) });

  it('returns 401 invalid_api_key before 429 rate_limited', async () => {
    const own = await workspace(service);
    const key = await own.addKey('live', { rate: 1 });
    const calls = () => Promise.all(Array.from({ length: 10 }, () => own.post('{', { key, gateway: 0 })));
    expect((await calls()).map((reply) => reply.status)).to.include(429);
    await own.revoke(key);
    await eventually(async () => {
      refused(await own.post('{', { key, gateway: 0 }), '401 invalid_api_key');
    });
    for (const reply of await calls()) refused(reply, '401 invalid_api_key');
  });

  it('returns 401 invalid_api_key before 422 for the body', async () => {
    const own = await workspace(service);
    const headers = { authorization: 'Bearer leadscore_sk_wrong' };
    refused(await own.post('{', { headers }), '401 invalid_api_key');
  });

  it('returns 429 rate_limited before 422 for the body', async () => {
    const own = await workspace(service);
    const key = await own.addKey('live', { rate: 1 });
    const replies = await Promise.all(Array.from({ length: 10 }, () => own.post('{', { key })));
    const codes = replies.map((reply) => `${reply.status} ${JSON.parse(reply.text).error.code}`);
    expect(new Set(codes)).to.deep.equal(new Set(['422 bad_request', '429 rate_limited']));
  });

  it('returns 422 for the syntax before 422 for the schema', async () => {
    const own = await workspace(service);
    const { message } = refused(await own.post('{"records":null'), '422 bad_request').error;
    expect(message).to.include('not valid JSON');
  });

  it('returns 422 for the Content-Type before 400 for an empty batch', async () => {
    const own = await workspace(service);
    const body = JSON.stringify({ model_id: own.model._id, records: [] });
    const headers = { 'content-type': 'text/plain' };
    refused(await own.post(body, { headers }), '422 bad_request');
  });

  it('returns 422 for the schema before 400 for an empty batch', async () => {
    const own = await workspace(service);
    refused(await own.post({ records: [] }), '422 bad_request');
    refused(await own.post({ model_id: own.model._id, records: [], explain: 'true' }), '422 bad_request');
  });

  it('returns 422 for the schema before 400 record_limit_exceeded', async () => {
    const own = await workspace(service);
    refused(await own.score([...many.slice(1), { crm_id: true }, lead]), '422 bad_request');
  });

  it('returns 400 for an empty batch and 400 record_limit_exceeded before 402 expired_read_only', async () => {
    const own = await workspace(service, expired());
    refused(await own.score([]), '400 bad_request');
    refused(await own.score(many), '400 record_limit_exceeded');
  });

  it('returns 400 record_limit_exceeded before 429 quota_exceeded of plan and month', async () => {
    const free = await workspace(service, { plan: 'free' });
    refused(await free.score(many), '400 record_limit_exceeded');
    const spent = await workspace(service, { limit: 0 });
    refused(await spent.score(many), '400 record_limit_exceeded');
  });

  it('returns 402 workspace_suspended before 402 expired_read_only and 429 quota_exceeded of the Free plan', async () => {
    const suspended = { at: new Date(), by: 'Olga', reason: 'not paid' };
    for (const options of [expired(), { plan: 'free' } as const]) {
      const own = await workspace(service, options);
      await own.change({ suspended });
      refused(await own.score(many), '400 record_limit_exceeded');
      refused(await own.score([lead], { modelId: noModel }), '402 workspace_suspended');
    }
  });

  it('returns 402 expired_read_only before 404 model_not_found', async () => {
    const own = await workspace(service, expired());
    refused(await own.score([lead], { modelId: noModel }), '402 expired_read_only');
  });

  it('returns 429 quota_exceeded of the Free plan before 404 model_not_found, except to a test key', async () => {
    const own = await workspace(service, { plan: 'free' });
    refused(await own.score([lead], { modelId: noModel }), '429 quota_exceeded');
    refused(await own.score([lead], { modelId: noModel, key: own.test }), '404 model_not_found');
  });

  it('returns 404 model_not_found before 403 api_disabled', async () => {
    const own = await workspace(service);
    const other = await workspace(service, { liveApi: false });
    refused(await own.score([lead], { modelId: other.model._id }), '404 model_not_found');
  });

  it('returns 403 api_disabled before 409 deploy_blocked', async () => {
    const own = await workspace(service, { liveApi: false, policy: 'block' });
    refused(await own.score([lead]), '403 api_disabled');
  });

  it('returns 409 deploy_blocked before 429 quota_exceeded', async () => {
    const own = await workspace(service, { policy: 'block', limit: 0 });
    refused(await own.score([lead]), '409 deploy_blocked');
  });

  it('returns 429 quota_exceeded before 400 for a record that cannot be featurized', async () => {
    const own = await workspace(service, { limit: 1 });
    refused(await own.score([badRecord, lead, lead]), '429 quota_exceeded');
    refused(await own.score([badRecord, lead]), '400 bad_request');
    scored(await own.score([lead, lead]));
  });
});
