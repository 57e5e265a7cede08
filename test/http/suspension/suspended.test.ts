import { expect } from 'chai';
import { cliDocument } from '../../scripts/cli/cli-call.js';
import { eventually } from '../../support/eventually.js';
import type { HttpReply } from '../../support/http/http-call.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { testServers } from '../../support/service/servers.js';
import type { RunningService } from '../../support/service/service.js';
import { type CallOptions, onOwnWorkspace, type TestWorkspace } from '../../support/service/workspace.js';
import { newJob } from '../jobs/job-calls.js';
import { scoreSizes, scoresOf } from '../scores/history.js';

/** A change takes effect on each gateway within this time. */
const followMs = 5_000;
const lead = { company_size: 120 };
const refusal = '402 workspace_suspended';
const reason = 'invoice 1047 is not paid';

describe('the calls of a suspended organisation', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  }, 'twoGateways');

  /** Runs `org suspend` or `org resume` with the settings of the service. */
  async function org(...words: string[]): Promise<Record<string, unknown>> {
    const mongoUrl = new URL((await testServers()).mongoUrl);
    mongoUrl.pathname = service.stores.database.databaseName;
    return await cliDocument(['org', ...words], {
      MONGODB_URL: String(mongoUrl),
      REDIS_URL: service.redisServer.url,
    });
  }
  const suspend = () => org('suspend', own.id, '--reason', reason);

  /** The calls that score, or will. */
  function scoring(by: CallOptions): Readonly<Record<string, () => Promise<HttpReply>>> {
    const model_id = own.model._id;
    const batch = { model_id, records: [lead] };
    return {
      'POST /v1/score': () => own.post(batch, by),
      'POST /v1/score with explain': () => own.post({ ...batch, explain: true }, by),
      'POST /v1/webhooks/score': () => own.call('/v1/webhooks/score', { ...by, body: { model_id, record: lead } }),
      'POST /score': () => own.call('/score', { ...by, body: batch }),
      'POST /webhooks/score': () => own.call('/webhooks/score', { ...by, body: { model_id, record: lead } }),
      'POST /v1/jobs': () => own.call('/v1/jobs', { ...by, body: { model_id } }),
    };
  }

  it('are refused at each gateway within five seconds of the command, and accepted as soon after its end', async () => {
    for (const gateway of [0, 1]) scored(await own.score([lead], { gateway }));
    const { suspended } = await suspend();
    expect(suspended).to.include({ reason });
    await eventually(async () => {
      for (const gateway of [0, 1]) refused(await own.score([lead], { gateway }), refusal);
    }, followMs);
    const counted = await own.ledgerSum();
    for (const gateway of [0, 1])
      for (const key of [own.live, own.test])
        for (const [name, send] of Object.entries(scoring({ gateway, key }))) {
          const reply = await send();
          expect(reply.status, name).to.equal(402);
          const { error } = refused(reply, refusal);
          expect(error.message, name).to.match(/suspended this workspace on \d{4}-\d{2}-\d{2} \d{2}:\d{2} UTC/);
          expect(reply.text, name).to.not.include(reason);
          expect(reply.headers.get('retry-after'), name).to.equal(null);
        }
    expect([await own.ledgerSum(), await own.ledgerSum('test')]).to.deep.equal([counted, 0]);
    expect(await own.redisUsage()).to.deep.equal({ used: counted, leased: 0 });
    expect(await org('resume', own.id)).to.not.have.property('suspended');
    await eventually(async () => {
      for (const gateway of [0, 1]) scored(await own.score([lead], { gateway }));
    }, followMs);
    for (const [name, send] of Object.entries(scoring({ gateway: 0 })))
      expect((await send()).status, name).to.be.oneOf([200, 201]);
  });

  it('are answered if they read, report outcomes, replay an answered call or erase', async () => {
    await scoreSizes(own, { crmId: 'L-1', sizes: [10] });
    const { job_id: jobId } = await newJob(own);
    const headers = { 'idempotency-key': 'before the suspension' };
    const answered = await own.score([lead], { headers });
    scored(answered);
    await suspend();
    const paths = [
      ...['/v1/usage', '/v1/usage/daily', '/v1/models', `/v1/models/${own.model._id}`],
      ...[`/v1/models/${own.model._id}/coverage`, scoresOf('L-1'), '/v1/jobs', `/v1/jobs/${jobId}`],
    ];
    for (const gateway of [0, 1]) {
      await eventually(async () => refused(await own.score([lead], { gateway }), refusal), followMs);
      for (const path of paths) expect((await own.call(path, { gateway })).status, path).to.equal(200);
      expect((await own.score([lead], { gateway, headers })).text).to.equal(answered.text);
      const outcomes = { outcomes: [{ crm_id: 'L-1', converted: true }] };
      expect((await own.call('/v1/outcomes', { gateway, body: outcomes })).status).to.equal(200);
      const outcome = { crm_id: 'L-1', outcome: 'won' };
      expect((await own.call('/v1/webhooks/outcome', { gateway, body: outcome })).status).to.equal(200);
    }
    expect((await own.call(scoresOf('L-1'), { method: 'DELETE' })).status).to.equal(204);
  });
});
