import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { scored } from '../support/http/score-reply.js';
import { runningService, startTimeoutMs } from '../support/service/service.js';
import { workspace } from '../support/service/workspace.js';

/** ONNX Runtime stores telemetry with a machine id in the home directory before it sends it. */
describe('telemetry of ONNX Runtime', () => {
  it('leaves no file in the home directory after a model was run', async function () {
    this.timeout(startTimeoutMs);
    const service = await runningService();
    const own = await workspace(service);
    await eventually(async () => scored(await own.score([{ company_size: 120 }])), 10_000);
    expect(readdirSync(service.home, { recursive: true })).to.deep.equal([]);
  });
});
