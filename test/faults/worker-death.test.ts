import { expect } from 'chai';
import { toleranceMs } from '../../scripts/chaos/check/watch-processors.js';
import { eventually } from '../support/eventually.js';
import { busyWorker } from '../support/faults/busy-worker.js';
import { expectExact, expectNoOtherDeath, workerDeaths } from '../support/faults/fault-checks.js';
import { printFigures } from '../support/faults/fault-figures.js';
import { slowBundle } from '../support/faults/fault-models.js';
import { type FaultService, faultService } from '../support/faults/fault-service.js';
import { ProcessorWatch } from '../support/faults/processor-watch.js';
import { scored } from '../support/http/score-reply.js';
import { startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';
import { itInFull } from '../support/tier.js';

const lead = { company_size: 120 };
const leads = (count: number) => Array.from({ length: count }, () => lead);
const recoveryMs = 8_000; // a job's lock lasts 5.5 s, its check for stalled jobs comes within 2 s

describe('a worker that dies while it runs a model', () => {
  let service: FaultService;
  let own: TestWorkspace;
  const killed: number[] = [];

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await faultService();
    own = await workspace(service, { bundle: slowBundle() });
    await Promise.all(leads(8).map(async (one) => scored(await own.score([one, one]))));
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await service?.stop();
  });
  afterEach(async () => {
    await expectExact(own);
    await expectNoOtherDeath(service, killed);
  });

  /**
   * Sends calls, and a signal to one of the workers that run them. Asserts that all calls are answered in time from
   * then on. Time without a processor is deducted (`toleranceMs`).
   */
  async function signalWhileRunning(signal: NodeJS.Signals, fault: string): Promise<void> {
    let signalledMs = 0;
    const [processors, answeredMs] = await ProcessorWatch.during(service, 'all', async () => {
      const calls = [own.score(leads(2)), own.score(leads(300)), own.score(leads(1)), own.score(leads(20))];
      const pid = await eventually(() => busyWorker(service));
      process.kill(pid, signal);
      killed.push(pid);
      signalledMs = performance.now();
      for (const reply of await Promise.all(calls)) scored(reply);
      return performance.now();
    });
    const slowestMs = answeredMs - signalledMs;
    const withoutProcessorMs = processors.maxWaitMs(signalledMs, answeredMs);
    printFigures({
      fault,
      recovered_ms: slowestMs,
      within_ms: recoveryMs,
      without_processor_ms: withoutProcessorMs,
    });
    expect(slowestMs).to.be.below(recoveryMs + toleranceMs(withoutProcessorMs, recoveryMs));
  }

  it('is replaced when it is killed, and its calls are answered 200 within 8 s', async function () {
    this.timeout(startTimeoutMs);
    await signalWhileRunning('SIGKILL', 'a worker killed while it runs a model');
    await eventually(() => expect(service.cluster.workerPids()).to.have.length(4), 5_000);
    expect((await workerDeaths(service)).map(({ signal }) => signal)).to.deep.equal(['SIGKILL']);
    scored(await own.score(leads(3)));
  });

  itInFull('is killed and replaced when it is stopped, and its calls are answered 200 within 8 s', async function () {
    this.timeout(startTimeoutMs);
    await signalWhileRunning('SIGSTOP', 'a worker stopped while it runs a model');
    await eventually(async () => expect(await workerDeaths(service)).to.have.length(2), 12_000);
    await eventually(() => {
      const pids = service.cluster.workerPids();
      expect(pids).to.have.length(4);
      for (const pid of killed) expect(pids).not.to.include(pid);
    }, 5_000);
    scored(await own.score(leads(3)));
  });
});
