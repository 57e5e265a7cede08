import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { holdAndDie } from '../support/faults/abandoned-lease.js';
import { expectExact } from '../support/faults/fault-checks.js';
import { printFigures } from '../support/faults/fault-figures.js';
import { type CallOutcome, statuses, timed, underLoad } from '../support/faults/fault-load.js';
import { duringFault, onSharedFaultService } from '../support/faults/fault-run.js';
import { type FaultService, sharedDeadlineMs, sharedLeaseMs } from '../support/faults/fault-service.js';
import type { HttpReply } from '../support/http/http-call.js';
import { refused, scored } from '../support/http/score-reply.js';
import { startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';
import { itInFull } from '../support/tier.js';

const leads = (count: number) => Array.from({ length: count }, () => ({ company_size: 120 }));
const recoveredWithinMs = 3_000;
const rebuiltWithinMs = 5_000; // a lost counter is rebuilt from the ledger
const exactWithinMs = 2 * (sharedLeaseMs + 6_000);
const sweptWithinMs = 15_000; // production sweeps every four seconds; a busy machine may delay each step
/** A log line of a refused command. */
const refusedToPool = /"process":"(pool|worker)".*OOM command not allowed/;
const fullMs = 6_000;
/**
 * Each pool has six lane workers: two processes for singles, two for batches, and two lanes of upkeep. Each lane worker
 * polls four times a second and checks for stalled jobs once.
 */
const maxRefusalsASecond = 2 * 6 * 5;

describe('a service under load whose Redis fails', () => {
  let service: FaultService;
  let own: TestWorkspace;

  onSharedFaultService({ company_size: 120 }, (running, fresh) => {
    service = running;
    own = fresh;
  });

  it('answers calls by their deadline and recovers when Redis is frozen for longer', async function () {
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

  itInFull('recovers when Redis is killed and started on its data', async function () {
    this.timeout(startTimeoutMs);
    await duringFault(service, own, {
      fault: 'Redis killed and started on its data',
      cause: async () => {
        await service.cluster.kill('redis');
        await service.cluster.revive('redis');
      },
      recoveredWithinMs,
      from: 'end',
    });
  });

  it('rebuilds counters when Redis is killed and started with nothing', async function () {
    this.timeout(startTimeoutMs);
    await duringFault(service, own, {
      fault: 'Redis killed and started with nothing',
      cause: async () => {
        await service.cluster.kill('redis');
        await service.cluster.loseData('redis');
        await service.cluster.revive('redis');
      },
      recoveredWithinMs: rebuiltWithinMs,
      from: 'end',
    });
  });

  itInFull('rebuilds counters when Redis is emptied', async function () {
    this.timeout(startTimeoutMs);
    await duringFault(service, own, {
      fault: 'Redis emptied (FLUSHALL)',
      cause: () => service.redis.flushall(),
      recoveredWithinMs: rebuiltWithinMs,
      from: 'beginning',
    });
  });

  it('reaches the hard stop and never passes it when Redis is emptied twelve times', async function () {
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
    expect(answered, 'records in calls answered with 200').to.be.at.most(2 * limit);
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

  itInFull('enforces a hard stop that was reached before Redis started on old data', async function () {
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
      fault: 'Redis started on data from before the hard stop was reached',
      answers: statuses(outcomes),
      recovered_ms: refusedAfterMs,
      hard_stop: 2 * limit,
      counted: 2 * limit,
    });
  });

  itInFull('answers every call with 200 when Redis loses its scripts', async function () {
    this.timeout(startTimeoutMs);
    const outcomes = await duringFault(service, own, {
      fault: 'Redis loses its scripts (SCRIPT FLUSH)',
      cause: () => service.redis.script('FLUSH'),
      recoveredWithinMs,
      from: 'beginning',
    });
    expect(statuses(outcomes)).to.have.all.keys('200');
  });

  it('answers with 500 and Retry-After at once and counts nothing while Redis is full', async function () {
    this.timeout(startTimeoutMs);
    const outcomes = await duringFault(service, own, {
      fault: 'Redis full (maxmemory, noeviction)',
      cause: async () => {
        await service.redis.config('SET', 'maxmemory', '1');
        try {
          // A pool can start on a full Redis.
          await service.cluster.stopPool(await service.cluster.startPool());
        } finally {
          await service.redis.config('SET', 'maxmemory', '0');
        }
      },
      recoveredWithinMs,
      from: 'end',
    });
    const failed = outcomes.flatMap(({ reply }) => (reply === undefined || reply.status === 200 ? [] : reply));
    expect(failed).to.not.be.empty;
    for (const reply of failed) {
      refused(reply, '500 internal_error');
      expect(Number(reply.headers.get('retry-after'))).to.be.within(1, 5);
    }
  });

  itInFull(
    'sweeps expired leases while Redis is full for seconds and afterwards, and workers back off',
    async function () {
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
        // A pool that starts meanwhile polls for overdue jobs.
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
      printFigures({ fault: 'Redis full for seconds: log lines of the pool', seconds, lines: refusals });
      expect(refusals, 'refused commands in the log').to.be.above(0);
      expect(refusals, 'refused commands').to.be.below(maxRefusalsASecond * (1 + seconds));
      await holdAndDie(own, 11);
      await expectSwept();
    },
  );
});

/** Number of matching lines in the log of the service. */
async function countInLog(service: FaultService, pattern: RegExp): Promise<number> {
  return (await service.log()).split('\n').filter((line) => pattern.test(line)).length;
}
