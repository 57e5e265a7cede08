import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { holdAndDie } from '../support/faults/abandoned-lease.js';
import { expectExact, expectNoOtherDeath } from '../support/faults/fault-checks.js';
import { printFigures } from '../support/faults/fault-figures.js';
import { type CallOutcome, statuses, timed, underLoad } from '../support/faults/fault-load.js';
import { duringFault } from '../support/faults/fault-run.js';
import {
  type FaultService,
  sharedDeadlineMs,
  sharedFaultService,
  sharedLeaseMs,
} from '../support/faults/fault-service.js';
import type { HttpReply } from '../support/http/http-call.js';
import { refused, scored } from '../support/http/score-reply.js';
import { startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';

const leads = (count: number) => Array.from({ length: count }, () => ({ company_size: 120 }));
const recoveredWithinMs = 3_000;
/** A counter that Redis has lost is known again after this long. */
const rebuiltWithinMs = 5_000;
const exactWithinMs = 2 * (sharedLeaseMs + 6_000);
/** A sweep every four seconds. */
const sweptWithinMs = 5_000;
/** What the service logs. */
const refusedToPool = /"process":"(pool|worker)".*OOM command not allowed/;
const fullMs = 6_000;
/** Two pools of two workers on two lanes, and two lanes of upkeep: each asks four times a second, and looks for stalled jobs once. */
const maxRefusalsASecond = 2 * 6 * 5;

describe('Redis under load', () => {
  let service: FaultService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedFaultService();
  });
  beforeEach(async () => {
    own = await workspace(service);
    await eventually(async () => scored(await own.score(leads(1))), 10_000);
  });
  afterEach(async () => {
    await expectNoOtherDeath(service);
  });

  it('is frozen for longer than a deadline', async function () {
    this.timeout(startTimeoutMs);
    await duringFault(service, own, {
      fault: 'Redis frozen for longer than a deadline',
      cause: async () => {
        service.cluster.freeze('redis');
        await pause(sharedDeadlineMs + 700);
        service.cluster.thaw('redis');
      },
      recoveredWithinMs,
      from: 'end',
    });
  });

  it('is killed and started again on its data', async function () {
    this.timeout(startTimeoutMs);
    await duringFault(service, own, {
      fault: 'Redis killed, started again on its data',
      cause: async () => {
        await service.cluster.kill('redis');
        await service.cluster.revive('redis');
      },
      recoveredWithinMs,
      from: 'beginning',
    });
  });

  it('is killed and started again with nothing', async function () {
    this.timeout(startTimeoutMs);
    await duringFault(service, own, {
      fault: 'Redis killed, started again with nothing',
      cause: async () => {
        await service.cluster.kill('redis');
        await service.cluster.loseData('redis');
        await service.cluster.revive('redis');
      },
      recoveredWithinMs: rebuiltWithinMs,
      from: 'beginning',
    });
  });

  it('is emptied', async function () {
    this.timeout(startTimeoutMs);
    await duringFault(service, own, {
      fault: 'Redis emptied (FLUSHALL)',
      cause: () => service.redis.flushall(),
      recoveredWithinMs: rebuiltWithinMs,
      from: 'beginning',
    });
  });

  it('is emptied again and again near the hard stop, which is reached and not passed', async function () {
    this.timeout(startTimeoutMs);
    const limit = 60;
    const near = await workspace(service, { limit });
    const outcomes: CallOutcome[] = [];
    const score = async (): Promise<HttpReply> => {
      const outcome = await timed(() => near.score(leads(3)));
      outcomes.push(outcome);
      if (outcome.reply === undefined) throw new Error('no answer');
      return outcome.reply;
    };
    await underLoad(score, async () => {
      for (let time = 0; time < 12; time += 1) {
        await pause(250);
        await service.redis.flushall();
      }
      await eventually(async () => refused(await score(), '429 quota_exceeded'), 10_000);
    });
    const answers = statuses(outcomes);
    expect(Object.keys(answers).filter((status) => !['200', '429', '500'].includes(status))).to.be.empty;
    const answered = 3 * (answers[200] ?? 0);
    expect(answered, 'records of calls that were answered with 200').to.be.at.most(2 * limit);
    const counted = await expectExact(near, exactWithinMs, answered);
    for (let used = counted; used < 2 * limit; used += 3) scored(await near.score(leads(3)));
    refused(await near.score(leads(1)), '429 quota_exceeded');
    printFigures({
      fault: 'Redis emptied twelve times near the hard stop',
      answers,
      hard_stop: 2 * limit,
      counted,
    });
  });

  it('comes back with what it knew a while ago: the hard stop that was reached since holds', async function () {
    this.timeout(startTimeoutMs);
    const limit = 30;
    const near = await workspace(service, { limit });
    for (let used = 0; used < limit; used += 3) scored(await near.score(leads(3)));
    await service.cluster.keepCopy('redis');
    for (let used = limit; used < 2 * limit; used += 3) scored(await near.score(leads(3)));
    await service.cluster.kill('redis');
    await service.cluster.returnToCopy('redis');
    await service.cluster.revive('redis');
    const revivedMs = performance.now();
    const outcomes = await underLoad(
      () => near.score(leads(3)),
      () => eventually(async () => refused(await near.score(leads(3)), '429 quota_exceeded'), 10_000),
    );
    const refusedAfterMs = performance.now() - revivedMs;
    expect(await near.ledgerSum()).to.equal(2 * limit);
    expect(await expectExact(near, exactWithinMs)).to.equal(2 * limit);
    printFigures({
      fault: 'Redis started again on data from before the hard stop was reached',
      answers: statuses(outcomes),
      recovered_ms: refusedAfterMs,
      hard_stop: 2 * limit,
      counted: 2 * limit,
    });
  });

  it('forgets its scripts, which nobody notices', async function () {
    this.timeout(startTimeoutMs);
    const outcomes = await duringFault(service, own, {
      fault: 'Redis forgets its scripts (SCRIPT FLUSH)',
      cause: () => service.redis.script('FLUSH'),
      recoveredWithinMs,
      from: 'beginning',
    });
    expect(statuses(outcomes)).to.have.all.keys('200');
  });

  it('is full: calls are refused at once with Retry-After, and none of them is counted', async function () {
    this.timeout(startTimeoutMs);
    const outcomes = await duringFault(service, own, {
      fault: 'Redis full (maxmemory, noeviction)',
      cause: async () => {
        await service.redis.config('SET', 'maxmemory', '1');
        try {
          // Whoever starts meanwhile starts all the same.
          await service.cluster.stopPool(await service.cluster.startPool());
        } finally {
          await service.redis.config('SET', 'maxmemory', '0');
        }
      },
      recoveredWithinMs,
      from: 'end',
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

  it('is full for seconds: what nobody ended is swept meanwhile and afterwards, and nobody asks in circles', async function () {
    this.timeout(startTimeoutMs);
    const counted = await expectExact(own);
    const expectSwept = () =>
      eventually(
        async () => expect(await own.redisUsage()).to.deep.equal({ used: counted, leased: 0 }),
        sweptWithinMs,
      );
    await holdAndDie(own, 7);
    const before = await countInLog(service, refusedToPool);
    const sinceMs = performance.now();
    await service.redis.config('SET', 'maxmemory', '1');
    try {
      // A pool that starts meanwhile asks for what was due before.
      const started = service.cluster.startPool();
      try {
        await Promise.all([started, expectSwept(), pause(fullMs)]);
      } finally {
        await service.cluster.stopPool(await started);
      }
    } finally {
      await service.redis.config('SET', 'maxmemory', '0');
    }
    const seconds = (performance.now() - sinceMs) / 1_000;
    const refusals = (await countInLog(service, refusedToPool)) - before;
    printFigures({ fault: 'Redis full for seconds: lines in the log of the pool', seconds, lines: refusals });
    expect(refusals, 'commands refused, by the log').to.be.above(0);
    expect(refusals, 'commands refused').to.be.below(maxRefusalsASecond * (1 + seconds));
    await holdAndDie(own, 11);
    await expectSwept();
  });
});

/** How many lines the service has logged that look like this. */
async function countInLog(service: FaultService, pattern: RegExp): Promise<number> {
  return (await service.log()).split('\n').filter((line) => pattern.test(line)).length;
}
