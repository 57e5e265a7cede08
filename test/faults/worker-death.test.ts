import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { noteDescriptor } from '../../worker/pool/crash-note.js';
import { eventually } from '../support/eventually.js';
import { expectExact, expectNoOtherDeath, workerDeaths } from '../support/faults/fault-checks.js';
import { printFigures } from '../support/faults/fault-figures.js';
import { slowBundle } from '../support/faults/fault-models.js';
import { type FaultService, faultService } from '../support/faults/fault-service.js';
import { scored } from '../support/http/score-reply.js';
import { startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';

const lead = { company_size: 120 };
const leads = (count: number) => Array.from({ length: count }, () => lead);
/** A killed worker's job is with another worker after its lock (5 s) and a look for stalled ones (2 s). */
const recoveryMs = 8_000;

describe('a worker that dies in the middle of its work', () => {
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

  /** Sends calls, and harms one of the workers that run them. Gives how long each call took from then on. */
  async function harmWhileRunning(signal: NodeJS.Signals): Promise<number[]> {
    const calls = [own.score(leads(2)), own.score(leads(300)), own.score(leads(1)), own.score(leads(20))];
    const pid = await eventually(() => busyWorker(service));
    process.kill(pid, signal);
    killed.push(pid);
    const harmedMs = performance.now();
    const tookMs = calls.map(async (call) => {
      scored(await call);
      return performance.now() - harmedMs;
    });
    return Promise.all(tookMs);
  }

  it('killed: its calls are answered with 200 within 8 s, and it is replaced', async function () {
    this.timeout(startTimeoutMs);
    const slowestMs = Math.max(...(await harmWhileRunning('SIGKILL')));
    printFigures({
      fault: 'a worker killed in the middle of a job',
      recovered_ms: slowestMs,
      within_ms: recoveryMs,
    });
    expect(slowestMs).to.be.below(recoveryMs);
    await eventually(() => expect(service.cluster.workerPids()).to.have.length(2), 5_000);
    expect((await workerDeaths(service)).map(({ signal }) => signal)).to.deep.equal(['SIGKILL']);
    scored(await own.score(leads(3)));
  });

  it('stopped: the same, and the pool kills it', async function () {
    this.timeout(startTimeoutMs);
    const slowestMs = Math.max(...(await harmWhileRunning('SIGSTOP')));
    printFigures({
      fault: 'a worker stopped in the middle of a job',
      recovered_ms: slowestMs,
      within_ms: recoveryMs,
    });
    expect(slowestMs).to.be.below(recoveryMs);
    await eventually(async () => expect(await workerDeaths(service)).to.have.length(2), 12_000);
    await eventually(() => {
      const pids = service.cluster.workerPids();
      expect(pids).to.have.length(2);
      for (const pid of killed) expect(pids).not.to.include(pid);
    }, 5_000);
    scored(await own.score(leads(3)));
  });
});

/** The process id of a worker that is running a model at this moment. */
function busyWorker({ cluster }: FaultService): number {
  const pid = cluster.workerPids().find((each) => crashNoteOf(each) !== '');
  if (pid === undefined) throw new Error('no worker is running a model');
  return pid;
}

/** What a worker has noted that it runs. */
function crashNoteOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/fd/${noteDescriptor}`, 'utf8').trim();
  } catch {
    return '';
  }
}
