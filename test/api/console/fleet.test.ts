import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { ServiceProcess } from '../../../scripts/servers/service-process.js';
import { fleetOutput } from '../../../shared/admin/schemas/usage.js';
import { lanes } from '../../../shared/contract/lanes.js';
import { gradingQueueName } from '../../../shared/messages/grading-job.js';
import { recordSweep } from '../../../shared/quota/sweep-log.js';
import { queuePrefix, sweepLogKey } from '../../../shared/redis/keys.js';
import { expectShape } from '../../support/admin/admin-desk.js';
import { type ConsoleService, consoleService, startPool } from '../../support/admin/console-service.js';
import { eventually } from '../../support/eventually.js';
import { startTimeoutMs } from '../../support/service/service.js';

describe("the operator's page", () => {
  let service: ConsoleService;
  let pool: ServiceProcess | undefined;
  let elsewhere: Redis | undefined;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await consoleService();
  });
  after(async () => {
    elsewhere?.disconnect();
    await pool?.stop();
    await service?.leave();
  });

  it('shows the worker processes of each lane, running processes and the latest sweeps, while a pool runs', async function () {
    this.timeout(2 * startTimeoutMs);
    const operator = await service.signIn('operator');
    const fleet = async () => (await operator('GET', '/admin/v1/fleet')).body;
    const workersOf = (body: Awaited<ReturnType<typeof fleet>>) =>
      Object.fromEntries(
        (body.lanes as { lane: string; workers: number }[]).map(({ lane, workers }) => [lane, workers]),
      );
    const before = await fleet();
    expectShape(fleetOutput, before);
    expect(before.sweeps).to.deep.equal([]);
    expect(before.processes).to.deep.equal({ gateways: 0, pools: 0, bulk_runners: 0, consoles: 1 });
    for (const lane of lanes) expect(workersOf(before)[lane], lane).to.equal(0);

    // Only the latest ten are kept.
    const counts = { released: 0, recounted: 0, failed: 0 };
    for (let settled = 1; settled <= 11; settled += 1)
      await recordSweep(service.redis, { ...counts, settled, atMs: settled, tookMs: 3 });
    const kept = (await fleet()).sweeps as { settled: number; took_ms: number }[];
    expect(kept.map(({ settled }) => settled)).to.deep.equal([11, 10, 9, 8, 7, 6, 5, 4, 3, 2]);
    expect(kept[0]).to.include({ took_ms: 3 });
    expect(await service.redis.llen(sweepLogKey)).to.equal(10);

    // A worker of another installation, which uses another database of the server.
    elsewhere = service.redis.duplicate({
      db: service.redis.options.db === 0 ? 1 : 0,
      connectionName: `${queuePrefix}:${Buffer.from(gradingQueueName).toString('base64')}`,
    });
    await elsewhere.ping();

    pool = await startPool(service);
    await eventually(async () => {
      const during = await fleet();
      expectShape(fleetOutput, during);
      // WORKERS=1: a process of batches, two of singles, and none of bulk jobs without a job.
      expect(workersOf(during)).to.include({
        singles: 2,
        batches: 1,
        bulk: 0,
        grading: 1,
        upkeep: 1,
        'bundle-checks': 1,
      });
      const measured = (during.lanes as { lane: string; backlog_seconds: number | null }[]).map(
        ({ lane, backlog_seconds: seconds }) => [lane, seconds],
      );
      expect(measured.slice(0, 4)).to.deep.equal([
        ['singles', 0],
        ['batches', 0],
        ['bulk', 0],
        ['grading', null],
      ]);
      expect(during.processes).to.include({ pools: 1, consoles: 1 });
      const [latest] = during.sweeps as { at: string; settled: number; failed: number }[];
      expect(latest).to.include({ settled: 0, failed: 0 });
    });
  });
});
