import { expect } from 'chai';
import { cycleModels } from '../../scripts/chaos/load/cycle-models.js';
import { childProcessIds } from '../../scripts/servers/process-usage.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { workspace } from '../support/service/workspace.js';

const models = 200;
const calls = 600; // three per model; `scripts/chaos/soak.ts` makes ten thousand
const sampleEvery = 50;

describe('two hundred models, four times as many as a worker keeps', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService({ gateways: 1 });
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await service?.stop();
  });

  it('are all answered when called in turn, and worker memory does not grow', async function () {
    this.timeout(180_000);
    const own = await workspace(service, { plan: 'enterprise', limit: 1e6 });
    const modelIds = [own.model._id];
    while (modelIds.length < models) modelIds.push((await own.addModel())._id);
    const samples = await cycleModels({
      modelIds,
      calls,
      callers: 4,
      sampleEvery,
      call: async (modelId) => (await own.score([{ company_size: 120 }], { modelId })).status,
      workerPids: () => childProcessIds(service.stack.pool.pid),
      onSample: () => undefined,
    });
    expect(samples).to.have.length(calls / sampleEvery);
    expect(samples.at(-1)?.failed, 'failed calls').to.equal(0);
    const maxMb = samples.map((sample) => sample.maxMb);
    const [afterOne = 0, afterAll = 0] = [maxMb[models / sampleEvery - 1], maxMb.at(-1)];
    expect(afterAll, `MB after ${models} calls: ${afterOne}`).to.be.below(afterOne + 80);
    expect(await own.ledgerSum()).to.equal(calls);
  });
});
