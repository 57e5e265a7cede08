import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { expectExact, expectNoOtherDeath } from '../support/faults/fault-checks.js';
import { printFigures } from '../support/faults/fault-figures.js';
import { slowBundle } from '../support/faults/fault-models.js';
import { type FaultService, sharedFaultService } from '../support/faults/fault-service.js';
import { RawConnection, requestBytes } from '../support/http/raw-connection.js';
import { scored } from '../support/http/score-reply.js';
import { startTimeoutMs } from '../support/service/service.js';
import { workspace } from '../support/service/workspace.js';

const lead = { company_size: 120 };

describe('a caller that hangs up', () => {
  let service: FaultService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedFaultService();
  });

  it('gets its call counted once or not at all, and its lease released', async function () {
    this.timeout(startTimeoutMs);
    const own = await workspace(service, { bundle: slowBundle() });
    await expectExact(own);
    const request = requestBytes({
      path: '/v1/score',
      headers: { authorization: `Bearer ${own.live.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model_id: own.model._id, records: [lead, lead] }),
    });
    const hangUpsMs = [0, 5, 20, 50, 100, 200, 400];
    await Promise.all(
      hangUpsMs.map(async (afterMs, index) => {
        const connection = await RawConnection.open(service.url(index % 2));
        connection.send(request);
        await pause(afterMs);
        connection.destroy();
      }),
    );
    const hungUpMs = performance.now();
    const counted = await expectExact(own, 5_000);
    printFigures({
      fault: 'a caller hangs up',
      calls: hangUpsMs.length,
      counted: counted / 2,
      exact_ms: performance.now() - hungUpMs,
    });
    expect(counted).to.be.oneOf([0, ...hangUpsMs.map((_, calls) => 2 * (calls + 1))]);
    await eventually(async () => scored(await own.score([lead])), 10_000);
    await expectNoOtherDeath(service);
  });
});
