import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { expectExact, workerDeaths } from '../support/faults/fault-checks.js';
import { printFigures } from '../support/faults/fault-figures.js';
import { AnswerClock, type CallOutcome, statuses, timed, underLoad } from '../support/faults/fault-load.js';
import { crashingBundle, hangingBundle } from '../support/faults/fault-models.js';
import { type FaultService, faultService } from '../support/faults/fault-service.js';
import { ProcessorWatch } from '../support/faults/processor-watch.js';
import { refused } from '../support/http/score-reply.js';
import { startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';
import { itInFull } from '../support/tier.js';

const lead = { company_size: 120 };
const deadlineMs = 10_000; // of production: it exceeds the hang limit and the lock of a job
const testTimeoutMs = 120_000;
const hangMs = 5_000; // without a heartbeat, after which the pool kills a worker
const concurrentCalls = 4; // more than there are workers
const quarantinedMs = 2_000; // a worker refuses a quarantined version within this time, without running it

describe('a model that crashes or hangs its worker', () => {
  let service: FaultService;
  let healthy: TestWorkspace;
  let earlierDeaths: number;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await faultService();
  });
  beforeEach(async () => {
    healthy = await workspace(service);
    await eventually(async () => expect((await healthy.score([lead])).status).to.equal(200), 10_000);
    earlierDeaths = (await workerDeaths(service)).length;
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await service?.stop();
  });

  /** The workers that died during this test. */
  const deathsNow = async () => (await workerDeaths(service)).slice(earlierDeaths);

  /** Calls the model three times, while calls to another model go on: each of the first two calls ends one worker. */
  async function expectQuarantinedAfterTwo(poisonous: TestWorkspace, fault: string): Promise<void> {
    const beganMs = performance.now();
    const poisoned: CallOutcome[] = [];
    const callPoisonous = async () => {
      for (const deathCount of [1, 2]) {
        poisoned.push(await timed(() => poisonous.score([lead])));
        await eventually(async () => expect(await deathsNow()).to.have.length(deathCount));
      }
      await healthy.score([lead]); // ends when a replacement takes calls
      poisoned.push(await timed(() => poisonous.score([lead])));
    };
    const [clock, [processors, outcomes]] = await AnswerClock.during(service, deadlineMs, () =>
      ProcessorWatch.during(service, 'all', () =>
        underLoad(() => healthy.score([lead]), callPoisonous, { everyMs: 200 }),
      ),
    );
    const withoutProcessorMs = processors.maxWaitMs(beganMs, performance.now());
    const deaths = await deathsNow();
    printFigures({
      fault,
      answers: statuses(outcomes),
      slowest_ms: Math.max(...outcomes.map(({ tookMs }) => tookMs)),
      worker_deaths: deaths.length,
      without_processor_ms: withoutProcessorMs,
      waits_ms: processors.waitsMs(beganMs, performance.now()),
      ended_in_ms: Object.fromEntries(poisoned.map(({ tookMs }, index) => [`call ${index + 1}`, tookMs])),
      quarantined_ms: performance.now() - beganMs,
    });
    expect(poisoned.at(-1)?.tookMs, 'ms until a quarantined version is refused').to.be.below(quarantinedMs);
    clock.expectInTime([...outcomes, ...poisoned]);
    for (const { reply } of poisoned) if (reply !== undefined) refused(reply, '500 internal_error');
    const answered = outcomes.filter(({ reply }) => reply?.status === 200).length;
    // A call behind a hang has the rest of its deadline left. A machine that withholds as much fails it at its
    // deadline.
    if (withoutProcessorMs < deadlineMs - hangMs) expect(statuses(outcomes)).to.have.all.keys('200');
    for (const { reply, tookMs } of outcomes)
      if (reply?.status !== 200) expect(tookMs, 'ms of a failed call').to.be.above(deadlineMs - 1_000);
    expect(deaths, 'workers that died').to.have.length(2);
    expect(await expectExact(poisonous, 5_000)).to.equal(0);
    expect(await expectExact(healthy, 5_000)).to.equal(2 + answered);
  }

  it('crashes a worker: no chunk ends a second one, two quarantine it, and other models answer 200', async function () {
    this.timeout(testTimeoutMs);
    const poisonous = await workspace(service, { bundle: crashingBundle() });
    await expectQuarantinedAfterTwo(poisonous, 'a model that crashes its worker');
  });

  it('hangs a worker: no chunk ends a second one, two quarantine it, and other models answer 200', async function () {
    this.timeout(testTimeoutMs);
    const poisonous = await workspace(service, { bundle: hangingBundle() });
    await expectQuarantinedAfterTwo(poisonous, 'a model that hangs its worker');
  });

  for (const [does, bundle] of [
    ['crashes', crashingBundle],
    ['hangs', hangingBundle],
  ] as const) {
    itInFull(`${does} all workers at once: is quarantined, and other models answer 200 in time`, async function () {
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
      // A worker of low priority that gets no processor is killed after six hang limits, so after the deadline.
      await eventually(async () => expect(await deathsNow()).to.have.length.at.least(2), 6 * hangMs);
      const last = await timed(() => poisonous.score([lead]));
      const deaths = await deathsNow();
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
