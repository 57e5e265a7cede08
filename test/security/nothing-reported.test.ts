import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { scored } from '../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { workspace } from '../support/service/workspace.js';

/** ONNX Runtime stores telemetry with a machine id in the home directory before it sends it. */
describe('telemetry of ONNX Runtime', () => {
  let home: string;
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    home = mkdtempSync(join(tmpdir(), 'leadscore-home-'));
    service = await runningService({ gateways: 1, environment: { HOME: home } });
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await service?.stop();
    rmSync(home, { recursive: true, force: true });
  });

  it('leaves no file in the home directory after a model was run', async () => {
    const own = await workspace(service);
    await eventually(async () => scored(await own.score([{ company_size: 120 }])), 10_000);
    expect(readdirSync(home, { recursive: true })).to.deep.equal([]);
  });
});
