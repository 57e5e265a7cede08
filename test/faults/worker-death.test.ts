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

  /** Sends calls, and a signal to one of the workers that run them. Returns how long each call took from then on, ms. */
  async function signalWhileRunning(signal: NodeJS.Signals): Promise<number[]> {
    const calls = [own.score(leads(2)), own.score(leads(300)), own.score(leads(1)), own.score(leads(20))];
    const pid = await eventually(() => busyWorker(service));
    process.kill(pid, signal);
    killed.push(pid);
    const signalledMs = performance.now();
    const tookMs = calls.map(async (call) => {
      scored(await call);
      return performance.now() - signalledMs;
    });
    return Promise.all(tookMs);
  }

  it('is replaced when it is killed, and its calls are answered 200 within 8 s', async function () {
    this.timeout(startTimeoutMs);
    const slowestMs = Math.max(...(await signalWhileRunning('SIGKILL')));
    printFigures({
      fault: 'a worker killed while it runs a model',
      recovered_ms: slowestMs,
      within_ms: recoveryMs,
    });
    expect(slowestMs).to.be.below(recoveryMs);
    await eventually(() => expect(service.cluster.workerPids()).to.have.length(2), 5_000);
    expect((await workerDeaths(service)).map(({ signal }) => signal)).to.deep.equal(['SIGKILL']);
    scored(await own.score(leads(3)));
  });

  it('is killed and replaced when it is stopped, and its calls are answered 200 within 8 s', async function () {
    this.timeout(startTimeoutMs);
    const slowestMs = Math.max(...(await signalWhileRunning('SIGSTOP')));
    printFigures({
      fault: 'a worker stopped while it runs a model',
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

/** The process id of a worker that is running a model now. */
function busyWorker({ cluster }: FaultService): number {
  const pid = cluster.workerPids().find((each) => crashNoteOf(each) !== '');
  if (pid === undefined) throw new Error('no worker is running a model');
  return pid;
}

/** The model that a worker is running; empty when it runs none, or has exited. */
function crashNoteOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/fd/${noteDescriptor}`, 'utf8').trim();
  } catch {
    return '';
  }
}
