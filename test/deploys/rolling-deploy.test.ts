import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { expectExact, expectNoOtherDeath, workerDeaths } from '../support/faults/fault-checks.js';
import { printFigures } from '../support/faults/fault-figures.js';
import { type FaultService, faultService } from '../support/faults/fault-service.js';
import { startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';
import { itInFull } from '../support/tier.js';
import { BalancedCallers } from './balanced-callers.js';

const callers = 3;
const between = 30; // calls between two steps of a deploy
const maxCall = 20;
const maxAnswerMs = 10_500; // the default deadline plus 0.5 s

describe('a deploy under load', () => {
  let service: FaultService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await faultService({ settings: { LOG_LEVEL: 'info' } });
    own = await workspace(service, { plan: 'enterprise', limit: 1_000_000 });
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await service?.stop();
  });

  /** Runs `deploy` under load. Asserts that no call failed and that each was counted once. */
  async function withoutALostCall(title: string, deploy: (callers: BalancedCallers) => Promise<void>): Promise<void> {
    const before = await own.ledgerSum();
    let call = 0;
    const load = new BalancedCallers(
      service.cluster.gateways.flatMap((slot) => slot.url ?? []),
      {
        callers,
        secret: own.live.secret,
        nextCall: () => {
          const records = call++ % 3 === 0 ? maxCall : 1;
          const leads = Array.from({ length: records }, () => ({ company_size: 120 }));
          return { records, body: JSON.stringify({ model_id: own.model._id, records: leads }) };
        },
      },
    );
    await load.afterCalls(between);
    try {
      await deploy(load);
      await load.afterCalls(between);
    } finally {
      await load.stop();
    }
    const slowestMs = Math.max(...load.outcomes.map(({ tookMs }) => tookMs));
    printFigures({ fault: title, calls: load.outcomes.length, slowest_ms: slowestMs });
    const failed = load.outcomes.filter(({ status }) => status !== 200);
    expect(failed, `failed calls of ${load.outcomes.length}`).to.deep.equal([]);
    expect(slowestMs, 'the slowest answer').to.be.below(maxAnswerMs);
    const records = load.outcomes.reduce((sum, outcome) => sum + outcome.records, 0);
    expect(await expectExact(own)).to.equal(before + records);
  }

  it('loses no call when it replaces each gateway in turn', async function () {
    this.timeout(3 * startTimeoutMs);
    await withoutALostCall('gateways stopped with SIGTERM and replaced, one by one', async (load) => {
      for (const slot of [...service.cluster.gateways]) {
        const old = slot.service;
        const successor = await service.cluster.addGateway('direct', {});
        load.add(successor.url ?? '');
        await load.afterCalls(between);
        const url = slot.url ?? '';
        await slot.terminate();
        load.remove(url);
        expect(await old?.ended).to.equal('exit code 0');
        await load.afterCalls(between);
      }
    });
  });

  itInFull('loses no call when it ends each worker process in turn', async function () {
    this.timeout(3 * startTimeoutMs);
    const running = service.cluster.gateways.flatMap((slot) => slot.url ?? []);
    expect(running).to.have.length(2);
    const old = service.cluster.workerPids();
    await withoutALostCall('worker processes stopped with SIGTERM, one by one', async (load) => {
      for (const pid of old) {
        process.kill(pid, 'SIGTERM');
        await eventually(() => {
          const pids = service.cluster.workerPids();
          expect(pids).to.have.length(old.length);
          expect(pids).not.to.include(pid);
        }, 15_000);
        await load.afterCalls(between);
      }
    });
    const deaths = await workerDeaths(service);
    expect(deaths.map(({ pid, code }) => [pid, code])).to.deep.equal(old.map((pid) => [pid, 0]));
  });

  itInFull('loses no call when it replaces the worker pool', async function () {
    this.timeout(3 * startTimeoutMs);
    const old = service.cluster.pool;
    const gone = service.cluster.workerPids();
    await withoutALostCall('a pool started, the old one stopped with SIGTERM', async (load) => {
      await service.cluster.startPool();
      await load.afterCalls(between);
      expect(await service.cluster.stopPool(old)).to.equal('exit code 0');
      await load.afterCalls(between);
    });
    for (const pid of gone) expect(() => process.kill(pid, 0), `worker ${pid} of the old pool`).to.throw();
    await expectNoOtherDeath(
      service,
      (await workerDeaths(service)).map(({ pid }) => pid),
    );
  });
});
