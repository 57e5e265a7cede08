import { expect } from 'chai';
import { ownSettings, type ServiceProcess, startService } from '../../../scripts/servers/service-process.js';
import { eventually } from '../../support/eventually.js';
import type { HttpReply } from '../../support/http/http-call.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { testServers } from '../../support/service/servers.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { isFullTier } from '../../support/tier.js';
import { countedAtRest } from '../quota/counted.js';

const lead = { company_size: 120 };
const noProcess = '503 no worker process of singles and batches is running';
const withinMs = 25_000; // 10 s without a process, and up to 5 s until the gateway gets to know
const hourMs = 60 * 60 * 1000;
const atOnceMs = 2_000; // the deadlines are 10 s and 8 s

describe('a gateway without worker processes', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let later: ServiceProcess;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService({ gateways: 1 });
    own = await workspace(service);
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await later?.stop();
    await service?.stop();
  });

  const readyz = async (query = '', url = service.url(0)) => {
    const { status, text } = await own.call(`/readyz${query}`, { url });
    return `${status} ${text.trim()}`;
  };
  const startPool = async () => {
    const url = new URL((await testServers()).mongoUrl);
    url.pathname = service.stores.database.databaseName;
    const servers = { REDIS_URL: service.redisServer.url, MONGODB_URL: String(url) };
    const clock = { CLOCK_OFFSET_MS: String(Math.round((service.clock.now() - Date.now()) / hourMs) * hourMs) };
    const lanes = { LANES: isFullTier() ? '4' : '1', WORKERS: '1' };
    return startService({
      kind: 'worker',
      environment: { ...ownSettings(service.keyPepper), ...lanes, ...clock, ...servers },
      log: 'ignore',
    });
  };

  it('is not ready after 10 s, but still is for a balancer that ignores lost workers', async function () {
    this.timeout(startTimeoutMs);
    await eventually(async () => expect(await readyz()).to.equal('200 ready'), 5_000);
    scored(await own.score([lead]));
    await service.stack.pool.stop();
    expect(await readyz()).to.equal('200 ready');
    await eventually(async () => expect(await readyz()).to.equal(noProcess), withinMs);
    expect(await readyz('?except=workers')).to.equal('200 ready');
    expect(await readyz('?except=other')).to.equal(noProcess);
  });

  it('answers scoring calls 500 at once with Retry-After, counts none, and still answers others', async function () {
    this.timeout(startTimeoutMs);
    const counted = await countedAtRest(own);
    const path = '/v1/webhooks/score';
    const large = Array.from({ length: 900 }, () => ({ ...lead, note: 'x'.repeat(100) }));
    const refusedAtOnce = async (call: () => Promise<HttpReply>): Promise<void> => {
      const beganMs = performance.now();
      const reply = await call();
      expect(performance.now() - beganMs).to.be.below(atOnceMs);
      refused(reply, '500 internal_error');
      expect(reply.text).to.include('no scoring capacity');
      expect(reply.headers.get('retry-after')).to.equal('5');
    };
    await refusedAtOnce(() => own.score([lead]));
    await refusedAtOnce(() => own.score([lead, lead]));
    await refusedAtOnce(() => own.call(path, { body: { model_id: own.model._id, ...lead } }));
    // The thread for large calls reads the register at other times.
    await eventually(() => refusedAtOnce(() => own.score(large)), withinMs);
    expect(await countedAtRest(own)).to.deep.equal(counted);
    expect((await own.call('/v1/usage')).status).to.equal(200);
    refused(await own.score([lead], { modelId: 'mdl_none' }), '404 model_not_found');
  });

  it('is not ready at its start for any balancer, until worker processes were seen', async function () {
    this.timeout(startTimeoutMs);
    const { url } = await service.startGateway();
    for (const query of ['', '?except=workers']) expect(await readyz(query, url)).to.equal(noProcess);
    later = await startPool();
    for (const each of [url, service.url(0)])
      await eventually(async () => expect(await readyz('', each)).to.equal('200 ready'), 5_000);
    for (const each of [url, service.url(0)]) scored(await own.score([lead], { url: each }));
  });
});
