import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { scored } from '../support/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service.js';
import { workspace } from '../support/workspace.js';

/** ONNX Runtime keeps what it is about to report in the home directory, with an id for the machine. */
describe('what a service keeps in the home directory, to be reported to others', () => {
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

  it('is nothing, after a model was run', async () => {
    const own = await workspace(service);
    await eventually(async () => scored(await own.score([{ company_size: 120 }])), 10_000);
    expect(readdirSync(home, { recursive: true })).to.deep.equal([]);
  });
});
