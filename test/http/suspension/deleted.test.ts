import { expect } from 'chai';
import { scopeOfRoute } from '../../../api/auth/scopes.js';
import { cliDocument } from '../../scripts/cli/cli-call.js';
import { eventually } from '../../support/eventually.js';
import type { HttpCall } from '../../support/http/http-call.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { testServers } from '../../support/service/servers.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../support/service/workspace.js';
import { newJob } from '../jobs/job-calls.js';
import { scoreSizes, scoresOf } from '../scores/history.js';

/** A change takes effect on each gateway within this time. */
const followMs = 5_000;
const lead = { company_size: 120 };

describe('the calls of an organisation that is to be deleted', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  }, 'twoGateways');

  async function org(...words: string[]): Promise<Record<string, unknown>> {
    const mongoUrl = new URL((await testServers()).mongoUrl);
    mongoUrl.pathname = service.stores.database.databaseName;
    return await cliDocument(['org', ...words], {
      MONGODB_URL: String(mongoUrl),
      REDIS_URL: service.redisServer.url,
    });
  }

  it('get 401 on every endpoint of each gateway within five seconds, and are answered as before after an undelete', async () => {
    await scoreSizes(own, { crmId: 'L-1', sizes: [10] });
    const { job_id: jobId } = await newJob(own);
    const headers = { 'idempotency-key': 'before the deletion' };
    for (const gateway of [0, 1]) scored(await own.score([lead], { gateway }));
    const answered = await own.score([lead], { headers });
    await org('delete', own.id, '--name', 'An organisation of a test');
    const refusal = '401 invalid_api_key';
    await eventually(async () => {
      for (const gateway of [0, 1]) refused(await own.score([lead], { gateway }), refusal);
    }, followMs);
    const counted = await own.ledgerSum();
    for (const gateway of [0, 1])
      for (const key of [own.live, own.test])
        for (const route of Object.keys(scopeOfRoute)) {
          const [, path = ''] = route.split(' ');
          const method = route.split(' ')[0] as NonNullable<HttpCall['method']>;
          const at = path.replace(':job_id', jobId).replace(':model_id', own.model._id).replace(':crm_id', 'L-1');
          const body = method === 'GET' || method === 'HEAD' ? {} : { body: {} };
          // A piece of a file may be sent by POST.
          const headers = method === 'POST' && path.endsWith('/input') ? { 'x-http-method-override': 'PATCH' } : {};
          const reply = await own.call(at, { gateway, key, method, headers, ...body });
          expect(reply.status, route).to.equal(401);
          if (method !== 'HEAD')
            expect(reply.text, route).to.include('The organisation of the API key is being deleted.');
        }
    refused(await own.score([lead], { headers }), refusal);
    expect(await own.ledgerSum()).to.equal(counted);
    await org('undelete', own.id);
    await eventually(async () => {
      for (const gateway of [0, 1]) scored(await own.score([lead], { gateway }));
    }, followMs);
    expect((await own.score([lead], { headers })).text).to.equal(answered.text);
    expect((await own.call(scoresOf('L-1'))).status).to.equal(200);
  });
});
