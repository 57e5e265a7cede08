import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { expectExact, workerDeaths } from '../support/faults/fault-checks.js';
import { printFigures } from '../support/faults/fault-figures.js';
import { AnswerClock, type CallOutcome, statuses, timed, underLoad } from '../support/faults/fault-load.js';
import { crashingBundle, hangingBundle } from '../support/faults/fault-models.js';
import { type FaultService, faultService } from '../support/faults/fault-service.js';
import { refused } from '../support/http/score-reply.js';
import { startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';

const lead = { company_size: 120 };
const deadlineMs = 10_000; // of production: it exceeds the hang limit and the lock of a job
const testTimeoutMs = 120_000;
const concurrentCalls = 4; // more than there are workers
const quarantinedMs = 2_000; // a worker refuses a quarantined version within this time, without running it

describe('a model that crashes or hangs its worker', () => {
  let service: FaultService;
  let healthy: TestWorkspace;

  beforeEach(async function () {
    this.timeout(startTimeoutMs);
    service = await faultService();
    healthy = await workspace(service);
    await eventually(async () => expect((await healthy.score([lead])).status).to.equal(200), 10_000);
  });
  afterEach(async function () {
    this.timeout(startTimeoutMs);
    await service?.stop();
  });

  /** Calls the model until it is quarantined after so many worker deaths, while calls to another model go on. */
  async function callUntilQuarantined(
    poisonous: TestWorkspace,
    { fault, deathCount }: { readonly fault: string; readonly deathCount: number },
  ): Promise<void> {
    const beganMs = performance.now();
    const poisoned: CallOutcome[] = [];
    const callPoisonous = async () => {
      do poisoned.push(await timed(() => poisonous.score([lead])));
      while ((poisoned.at(-1)?.tookMs ?? 0) > quarantinedMs || (await workerDeaths(service)).length < deathCount);
    };
    const [clock, outcomes] = await AnswerClock.during(service, deadlineMs, () =>
      underLoad(() => healthy.score([lead]), callPoisonous, { everyMs: 200 }),
    );
    const deaths = await workerDeaths(service);
    printFigures({
      fault,
      answers: statuses(outcomes),
      slowest_ms: Math.max(...outcomes.map(({ tookMs }) => tookMs)),
      worker_deaths: deaths.length,
      quarantined_ms: performance.now() - beganMs,
    });
    clock.expectInTime([...outcomes, ...poisoned]);
    for (const { reply } of poisoned) if (reply !== undefined) refused(reply, '500 internal_error');
    expect(statuses(outcomes)).to.have.all.keys('200');
    expect(deaths, 'workers that died').to.have.length(deathCount);
    expect(await expectExact(poisonous, 5_000)).to.equal(0);
    expect(await expectExact(healthy, 5_000)).to.equal(1 + outcomes.length);
  }

  it('crashes a worker: is quarantined after two deaths, and other models answer 200', async function () {
    this.timeout(testTimeoutMs);
    const poisonous = await workspace(service, { bundle: crashingBundle() });
    await callUntilQuarantined(poisonous, { fault: 'a model that crashes its worker', deathCount: 2 });
  });

  it('hangs a worker: is quarantined after one death, and other models answer 200', async function () {
    this.timeout(testTimeoutMs);
    const poisonous = await workspace(service, { bundle: hangingBundle() });
    await callUntilQuarantined(poisonous, { fault: 'a model that hangs its worker', deathCount: 1 });
  });

  for (const [does, bundle] of [
    ['crashes', crashingBundle],
    ['hangs', hangingBundle],
  ] as const) {
    it(`${does} all workers at once: is quarantined, and other models answer 200 in time`, async function () {
      this.timeout(testTimeoutMs);
      const poisonous = await workspace(service, { bundle: bundle() });
      const [clock, [outcomes, poisoned]] = await AnswerClock.during(service, deadlineMs, async () => {
        const callPoisonous = () => timed(() => poisonous.score([lead, lead]));
        const calls = Promise.all(Array.from({ length: concurrentCalls }, callPoisonous));
        const beside = await underLoad(
          () => healthy.score([lead]),
          () => calls,
          { everyMs: 200 },
        );
        return [beside, await calls];
      });
      for (const { reply } of poisoned) if (reply !== undefined) refused(reply, '500 internal_error');
      clock.expectInTime([...outcomes, ...poisoned]);
      const last = await timed(() => poisonous.score([lead]));
      const deaths = await workerDeaths(service);
      printFigures({
        fault: `a model that ${does} all workers at once`,
        answers: statuses(outcomes),
        slowest_ms: Math.max(...outcomes.map(({ tookMs }) => tookMs)),
        worker_deaths: deaths.length,
      });
      expect(statuses(outcomes)).to.have.all.keys('200');
      expect(last.tookMs, 'ms until a quarantined version is refused').to.be.below(quarantinedMs);
      expect(deaths.length, 'workers that died').to.be.within(2, 4);
      expect(await expectExact(healthy, 5_000)).to.equal(1 + outcomes.length);
      expect(await expectExact(poisonous, 5_000)).to.equal(0);
    });
  }
});
