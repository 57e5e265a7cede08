import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { expectExact, expectNobodyElseDied } from '../support/fault-checks.js';
import {
  AnswerClock,
  type CallOutcome,
  recordsAnswered,
  recoveryMs,
  statuses,
  underLoad,
} from '../support/fault-load.js';
import {
  type FaultService,
  sharedDeadlineMs,
  sharedFaultService,
  sharedLeaseMs,
} from '../support/fault-service.js';
import { refused, scored } from '../support/score-reply.js';
import { startTimeoutMs } from '../support/service.js';
import { type TestWorkspace, workspace } from '../support/workspace.js';

const leads = (count: number) => Array.from({ length: count }, () => ({ company_size: 120 }));
const recordsPerCall = 3;
/** All is normal again this long after the fault's end. */
const recoveredWithinMs = 3_000;
/** A lease that nobody ended, and a counter that is to be taken from the ledger again one lease later. */
const exactWithinMs = 2 * (sharedLeaseMs + 6_000);

describe('Redis under load', () => {
  let service: FaultService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedFaultService();
  });
  beforeEach(async () => {
    own = await workspace(service);
    await eventually(async () => scored(await own.score(leads(1))));
  });
  afterEach(async () => {
    await expectNobodyElseDied(service);
  });

  /**
   * Makes calls before, during and after a fault. Each is answered by its deadline, those that are sent some time after
   * the fault with 200, and what is counted is what was answered with 200.
   */
  async function during(fault: () => Promise<unknown>): Promise<readonly CallOutcome[]> {
    const clock = new AnswerClock(sharedDeadlineMs);
    let endMs = 0;
    const outcomes = await underLoad(
      () => own.score(leads(recordsPerCall)),
      async () => {
        await pause(300);
        await fault();
        endMs = performance.now();
        await pause(recoveredWithinMs + 500);
      },
    );
    clock.expectInTime(outcomes);
    expect(recoveryMs(outcomes, endMs)).to.be.below(recoveredWithinMs);
    const counted = await expectExact(own, exactWithinMs);
    expect(counted, JSON.stringify(statuses(outcomes))).to.equal(
      1 + recordsAnswered(outcomes, recordsPerCall),
    );
    return outcomes;
  }

  it('is frozen for longer than a deadline', async function () {
    this.timeout(startTimeoutMs);
    await during(async () => {
      service.cluster.freeze('redis');
      await pause(sharedDeadlineMs + 700);
      service.cluster.thaw('redis');
    });
  });

  it('is killed and started again on its data', async function () {
    this.timeout(startTimeoutMs);
    await during(async () => {
      await service.cluster.kill('redis');
      await service.cluster.revive('redis');
    });
  });

  it('is emptied', async function () {
    this.timeout(startTimeoutMs);
    await during(() => service.redis.flushall());
  });

  it('forgets its scripts, which nobody notices', async function () {
    this.timeout(startTimeoutMs);
    const outcomes = await during(() => service.redis.script('FLUSH'));
    expect(statuses(outcomes)).to.have.all.keys('200');
  });

  it('is full: calls are refused at once with Retry-After, and none of them is counted', async function () {
    this.timeout(startTimeoutMs);
    const outcomes = await during(async () => {
      await service.redis.config('SET', 'maxmemory', '1');
      await pause(1_000);
      await service.redis.config('SET', 'maxmemory', '0');
    });
    const failed = outcomes.flatMap(({ reply }) =>
      reply === undefined || reply.status === 200 ? [] : reply,
    );
    expect(failed).to.not.be.empty;
    for (const reply of failed) {
      refused(reply, '500 internal_error');
      expect(Number(reply.headers.get('retry-after'))).to.be.within(1, 5);
    }
  });
});
