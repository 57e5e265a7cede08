import { expect } from 'chai';
import { freePort, signal } from '../../scripts/servers/server-process.js';
import { newSecret } from '../../shared/contract/identifiers.js';
import { eventually } from '../support/eventually.js';
import { crashingBundle } from '../support/faults/fault-models.js';
import { freeze } from '../support/faults/stall.js';
import { httpCall } from '../support/http/http-call.js';
import { refused, scored } from '../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';

/** Part of every body; never a word of the product itself. */
const bodyWord = 'word-of-a-body-7b1f';
const deadlineMs = 1_000;
const lead = { company_size: 120, lead_source: bodyWord, [bodyWord]: bodyWord, crm_id: bodyWord };

describe('secrets', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let metricsUrls: string[];
  /** Every secret that was sent, in each of its forms. */
  const secrets = new Set<string>();
  /** Bodies of all replies. */
  const replies: string[] = [];

  before(async function () {
    this.timeout(startTimeoutMs);
    const [adminPort, workerAdminPort] = await Promise.all([freePort(), freePort()]);
    metricsUrls = [adminPort, workerAdminPort].map((port) => `http://127.0.0.1:${port}/metrics`);
    service = await runningService({
      gateways: 1,
      environment: {
        LOG_LEVEL: 'trace',
        ADMIN_PORT: String(adminPort),
        WORKER_ADMIN_PORT: String(workerAdminPort),
        REQUEST_TIMEOUT_MS: String(deadlineMs),
        WEBHOOK_TIMEOUT_MS: String(deadlineMs),
      },
    });
    own = await workspace(service);
    for (const { secret } of [own.live, own.test]) secrets.add(secret);
    await eventually(async () => scored(await own.score([lead])), 10_000);
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await service?.stop();
  });

  const send = async (path: string, headers: Readonly<Record<string, string>>, body?: unknown) => {
    const reply = await httpCall(`${service.url()}${path}`, { headers, body });
    replies.push(reply.text);
    return reply;
  };

  async function sendKeysInEveryWay(): Promise<void> {
    const revoked = await own.addKey('live');
    await own.revoke(revoked);
    const mistyped = `${own.live.secret.slice(0, -1)}_`;
    const body = { model_id: own.model._id, records: [lead] };
    for (const secret of [own.live.secret, revoked.secret, newSecret('leadscore', 'test'), mistyped]) {
      const basic = Buffer.from(`${secret}:x`).toString('base64');
      secrets.add(secret).add(basic);
      await send('/v1/score', { authorization: `Bearer ${secret}` }, body);
      await send('/v1/score', { authorization: secret }, body);
      await send(`/v1/score?api_key=${secret}`, {}, body);
      await send(`/v1/score/${secret}`, {}, body);
      await send(`/${secret}`, { 'x-request-id': 'of-a-test' }, body);
      await send('/v1/webhooks/score', { authorization: `Basic ${basic}` }, { ...body, records: undefined, ...lead });
      await send('/v1/webhooks/score', { 'x-api-key': secret }, { model_id: secret, ...lead });
    }
  }

  async function sendBadBodies(): Promise<void> {
    const headers = { authorization: `Bearer ${own.live.secret}` };
    for (const body of [
      `{"${bodyWord}"`,
      bodyWord,
      { model_id: bodyWord, records: [lead] },
      { model_id: own.model._id, records: [{ company_size: { size: bodyWord } }] },
      { model_id: own.model._id, records: bodyWord },
    ])
      expect((await send('/v1/score', headers, body)).status, JSON.stringify(body)).to.be.within(400, 499);
  }

  /** Makes MongoDB refuse an outcome with an error that quotes the lead. */
  async function failWithTheLeadInTheError(): Promise<void> {
    const outcomes = service.stores.database.collection('outcomes');
    await outcomes.createIndex({ crm_id: 1 }, { unique: true });
    await outcomes.insertOne({ crm_id: bodyWord });
    const body = { outcomes: [{ crm_id: bodyWord, converted: true, at: new Date().toISOString() }] };
    await eventually(async () => {
      refused(await own.call('/v1/outcomes', { body }), '500 internal_error');
      expect(await service.log()).to.include('dup key: [value]');
    }, 10_000);
  }

  /** Makes Redis, the gateway and a worker fail, so that they log errors. */
  async function failEverywhere(): Promise<void> {
    const { redisServer } = service;
    await freeze(redisServer.pid);
    try {
      refused(await own.score([lead]), '500 internal_error');
      refused(await own.call('/v1/usage'), '500 internal_error');
      for (const method of ['GET', 'DELETE'] as const)
        refused(await own.call(`/v1/scores/${bodyWord}`, { method }), '500 internal_error');
    } finally {
      signal(redisServer.pid, 'SIGCONT');
    }
    await failWithTheLeadInTheError();
    const poisonous = await own.addModel({ bundle: crashingBundle() });
    await eventually(async () => {
      refused(await own.score([lead], { modelId: poisonous._id }), '500 internal_error');
      expect(await service.log()).to.include('a worker died while it worked on a chunk');
    }, 20_000);
  }

  it('holds no key, no lead and no word of a body in logs, replies and metrics after bad requests and failures', async function () {
    this.timeout(startTimeoutMs);
    await sendKeysInEveryWay();
    await sendBadBodies();
    await failEverywhere();
    const log = await service.log();
    expect(log).to.include('gateway ready').and.to.include('"level":"error"');
    expect(log).to.include('"route":"/v1/scores/:crm_id"');
    const metrics = await Promise.all(metricsUrls.map(async (url) => (await httpCall(url, { method: 'GET' })).text));
    expect(metrics[0]).to.include('leadscore_calls_total');
    for (const text of [log, ...metrics]) {
      for (const secret of secrets) expect(text.includes(secret), 'a key').to.equal(false);
      expect(text.includes(bodyWord), 'a word of a body').to.equal(false);
      expect(text.includes(service.keyPepper), 'the pepper').to.equal(false);
    }
    for (const text of replies)
      for (const secret of secrets) expect(text.includes(secret), `a key in ${text.slice(0, 300)}`).to.equal(false);
  });
});
