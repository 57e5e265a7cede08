import { expect } from 'chai';
import { messageVersion } from '../../shared/messages/score-job.js';
import { WorkerRegister } from '../../shared/redis/worker-register.js';
import { eventually } from '../support/eventually.js';
import { expectExact } from '../support/faults/fault-checks.js';
import { printFigures } from '../support/faults/fault-figures.js';
import { type FaultService, faultService } from '../support/faults/fault-service.js';
import { startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';
import { BalancedCallers } from './balanced-callers.js';
import { type NextRelease, nextRelease } from './next-release.js';

const between = 40; // calls between two steps
/** Enough for a home in each partition. */
const modelCount = 16;

/** In rendezvous hashing a process of either release may win all partitions that the other release reads. */
describe('a release that raises the message version, with LANES=4', () => {
  let service: FaultService;
  let own: TestWorkspace;
  let models: string[];
  let next: NextRelease;

  before(async function () {
    this.timeout(startTimeoutMs);
    next = await nextRelease();
    service = await faultService({
      gateways: ['direct'],
      settings: { LANES: '4', WORKERS: '2', BULK_WORKERS: '0', LOG_LEVEL: 'info' },
    });
    own = await workspace(service, { plan: 'enterprise', limit: 1_000_000 });
    const created = Array.from({ length: modelCount }, () => own.addModel());
    models = (await Promise.all(created)).map(({ _id }) => _id);
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await service?.stop();
    await next?.remove();
  });

  it('loses no call of either release, from the new pool to the end of the old one', async function () {
    this.timeout(4 * startTimeoutMs);
    const { cluster } = service;
    const [oldSlot] = cluster.gateways;
    const oldPool = cluster.pool;
    let call = 0;
    const callers = new BalancedCallers([oldSlot?.url ?? ''], {
      callers: 4,
      secret: own.live.secret,
      nextCall: () => {
        const records = call++ % 3 === 0 ? 20 : 1;
        const leads = Array.from({ length: records }, () => ({ company_size: 120 }));
        return { records, body: JSON.stringify({ model_id: models[call % models.length], records: leads }) };
      },
    });
    const before = await own.ledgerSum();
    await callers.afterCalls(between);
    try {
      await cluster.startPool(next.root);
      const register = new WorkerRegister(service.redis, 'batches');
      await eventually(async () =>
        expect([...(await register.listAll()).keys()]).to.have.members([messageVersion, messageVersion + 1]),
      );
      await callers.afterCalls(between);
      const successor = await cluster.addGateway('direct', {}, next.root);
      callers.add(successor.url ?? '');
      await callers.afterCalls(2 * between);
      const oldUrl = oldSlot?.url ?? '';
      await oldSlot?.terminate();
      callers.remove(oldUrl);
      await callers.afterCalls(between);
      expect(await cluster.stopPool(oldPool)).to.equal('exit code 0');
      await callers.afterCalls(between);
    } finally {
      await callers.stop();
    }
    const slowestMs = Math.max(...callers.outcomes.map(({ tookMs }) => tookMs));
    printFigures({ fault: 'another message version', calls: callers.outcomes.length, slowest_ms: slowestMs });
    const failed = callers.outcomes.filter(({ status }) => status !== 200);
    expect(failed, `failed calls of ${callers.outcomes.length}`).to.deep.equal([]);
    const records = callers.outcomes.reduce((sum, outcome) => sum + outcome.records, 0);
    expect(await expectExact(own)).to.equal(before + records);
  });
});
