import { expect } from 'chai';
import { childProcessIds } from '../../../scripts/servers/process-usage.js';
import { freePort, signal } from '../../../scripts/servers/server-process.js';
import { eventually } from '../../support/eventually.js';
import { httpCall } from '../../support/http/http-call.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';

const lead = { company_size: 120, crm_id: 'L-1' };

describe('metrics', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let gatewayUrl: string;
  let poolUrl: string;

  before(async function () {
    this.timeout(startTimeoutMs);
    const [adminPort, workerAdminPort] = await Promise.all([freePort(), freePort()]);
    gatewayUrl = `http://127.0.0.1:${adminPort}/metrics`;
    poolUrl = `http://127.0.0.1:${workerAdminPort}/metrics`;
    const environment = { ADMIN_PORT: String(adminPort), WORKER_ADMIN_PORT: String(workerAdminPort), WORKERS: '2' };
    service = await runningService({ environment });
    own = await workspace(service);
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await service?.stop();
  });

  /** The value of a metric, named with its labels as in the output. */
  const read = async (url: string, metric: string): Promise<number> => {
    const { text } = await httpCall(url, { method: 'GET' });
    const line = text.split('\n').find((candidate) => candidate.startsWith(`${metric} `));
    expect(line, `${metric} in\n${text}`).to.be.a('string');
    return Number(line?.slice(metric.length + 1));
  };

  it('counts calls by path, status and code on a gateway, without the probes of balancers', async () => {
    scored(await own.score([lead]));
    scored(await own.score([lead]));
    refused(await own.score([{ company_size: {} }]), '400 bad_request');
    const calls = 'leadscore_calls_total{path="/v1/score"';
    expect(await read(gatewayUrl, `${calls},status="200",code="ok"}`)).to.equal(2);
    expect(await read(gatewayUrl, `${calls},status="400",code="bad_request"}`)).to.equal(1);
    expect(await read(gatewayUrl, 'leadscore_call_seconds_count{path="/v1/score"}')).to.equal(3);
    for (const lane of ['singles', 'batches', 'bulk'])
      expect(await read(gatewayUrl, `leadscore_chunks_waiting{lane="${lane}"}`)).to.equal(0);
    expect(await read(gatewayUrl, 'leadscore_calls_to_void')).to.equal(0);
    for (const probe of ['/readyz', '/healthz']) expect((await own.call(probe)).status).to.equal(200);
    const { text } = await httpCall(gatewayUrl, { method: 'GET' });
    expect(text, 'the probes of balancers').to.not.match(/path="\/(readyz|healthz)"/);
  });

  it('reports the longest iteration of the event loop of a gateway since the last scrape', () =>
    eventually(
      async () => expect(await read(gatewayUrl, 'nodejs_eventloop_lag_max_seconds')).to.be.above(0),
      2_000,
      300, // ms between scrapes: a sample takes 100 ms, and a scrape drops the one that has begun
    ));

  it('counts the time in which each thread of a gateway was busy', async () => {
    const busy = (thread: string) => read(gatewayUrl, `leadscore_thread_busy_seconds_total{thread="${thread}"}`);
    const before = { main: await busy('main'), large: await busy('large_calls') };
    const note = 'x'.repeat(100);
    scored(await own.score(Array.from({ length: 1_000 }, (_, row) => ({ ...lead, crm_id: `B-${row}`, note }))));
    expect((await busy('main')) - before.main).to.be.within(0.0001, 10);
    expect((await busy('large_calls')) - before.large).to.be.within(0.001, 10);
  });

  it('reports processes, deaths, quarantined versions and lane depths of a pool', async () => {
    for (const lane of ['singles', 'batches']) {
      const wanted = await read(poolUrl, `leadscore_worker_processes{lane="${lane}",state="wanted"}`);
      expect(wanted).to.equal(2);
      expect(await read(poolUrl, `leadscore_worker_processes{lane="${lane}",state="ready"}`)).to.equal(wanted);
    }
    expect(await read(poolUrl, 'leadscore_worker_deaths_total')).to.equal(0);
    expect(await read(poolUrl, 'leadscore_bulk_worker_processes{state="wanted"}')).to.equal(0);
    expect(await read(poolUrl, 'leadscore_bulk_worker_deaths_total')).to.equal(0);
    expect(await read(poolUrl, 'leadscore_quarantined_versions')).to.equal(0);
    for (const lane of ['singles', 'batches', 'bulk'])
      expect(await read(poolUrl, `leadscore_lane_depth{lane="${lane}",partition="0"}`)).to.equal(0);
  });

  it('reports the clock difference to Redis on a gateway and a pool within 20 s', async () => {
    for (const url of [gatewayUrl, poolUrl])
      await eventually(
        async () => expect(await read(url, 'leadscore_clock_ahead_seconds')).to.be.closeTo(0, 1),
        20_000,
      );
  });

  it('counts unreadable cells and unseen values of scored records on a pool', async () => {
    scored(await own.score([{ company_size: 'many' }, lead, { company_size: 'n/a', demo_requested: 'maybe' }]));
    await eventually(async () => expect(await read(poolUrl, 'leadscore_unreadable_cells_total')).to.equal(2));
    const unseen = await read(poolUrl, 'leadscore_unseen_values_total');
    scored(await own.score([{ lead_source: 'Trade fair' }, { lead_source: 'Webinar' }, { lead_source: 'Fair' }]));
    await eventually(async () => expect(await read(poolUrl, 'leadscore_unseen_values_total')).to.equal(unseen + 2));
  });

  it('counts loads and hits of models on a pool, one for each chunk', async () => {
    const chunks = async () =>
      (await read(poolUrl, 'leadscore_model_loads_total')) + (await read(poolUrl, 'leadscore_model_hits_total'));
    const before = await chunks();
    expect(before).to.be.above(0);
    for (let call = 0; call < 3; call += 1) scored(await own.score([lead, lead]));
    await eventually(async () => expect(await chunks()).to.equal(before + 3));
    expect(await read(poolUrl, 'leadscore_model_loads_total')).to.be.above(0);
    expect(await read(poolUrl, 'leadscore_model_hits_total')).to.be.above(0);
  });

  it('counts a killed worker and the outcomes of the sweep on a pool', async () => {
    const [worker] = childProcessIds(service.stack.pool.pid);
    expect(worker).to.be.a('number');
    signal(worker ?? 0, 'SIGKILL');
    await eventually(async () => expect(await read(poolUrl, 'leadscore_worker_deaths_total')).to.equal(1), 10_000);
    await eventually(
      async () => expect(await read(poolUrl, 'leadscore_swept_total{outcome="settled"}')).to.equal(0),
      15_000,
    );
  });
});
