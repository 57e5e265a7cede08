import { expect } from 'chai';
import { readWorkerConfig, workerEnvironment } from '../../../shared/config/config.js';
import { productionTimings, type Timings, timingsAt } from '../../../shared/config/timings.js';
import { leaseMsOf } from '../../../shared/quota/leases.js';
import { laneTimings } from '../../../worker/lanes/lane-worker.js';
import { heartbeatTimings } from '../../../worker/pool/heartbeats.js';
import { poolTimings } from '../../../worker/pool/pool.js';

/** Asserts the relations that production and tests have in common. */
function expectSound({ drain, redis, upkeep }: Timings): void {
  expect(drain.quietMs, 'quiet').to.be.above(drain.graceMs);
  expect(redis.maxSilenceMs, 'one lost ping is no silence').to.be.at.least(2 * redis.pingEveryMs);
  expect(redis.minPatienceMs, 'not ready before the connection is replaced').to.be.above(
    redis.pingEveryMs + redis.maxSilenceMs,
  );
  expect(upkeep.sweepEveryMs, 'no lease waits for the check of schedules').to.be.at.most(2 * upkeep.scheduleCheckMs);
}

describe('the timings', () => {
  const { requestTimeoutMs, webhookTimeoutMs, timings } = readWorkerConfig({});
  const deadlineMs = Math.max(requestTimeoutMs, webhookTimeoutMs);
  const leaseMs = leaseMsOf({ requestTimeoutMs, webhookTimeoutMs });

  it('are those of production unless TEST_TIMINGS_PERCENT is set, also in a worker process', () => {
    expect(timings).to.equal(productionTimings);
    const environment = workerEnvironment({ TEST_TIMINGS_PERCENT: '10' });
    expect(readWorkerConfig(environment).timings).to.deep.equal(timingsAt(10));
  });

  it('are sound at every percentage', () => {
    for (const percent of [5, 10, 25, 50, 99, 100]) expectSound(timingsAt(percent));
  });

  it('are never longer in tests than in production, and never below the shortest times', () => {
    expect(timingsAt(5).upkeep.sweepEveryMs).to.equal(1_000);
    expect(timingsAt(50).drain.graceMs).to.equal(1_000);
    const all = ({ drain, redis, upkeep, daySums, refusedCalls }: Timings) =>
      [drain, redis, upkeep, daySums, refusedCalls].flatMap((times) => Object.values(times));
    for (const [index, ms] of all(timingsAt(10)).entries())
      expect(ms).to.be.at.most(all(productionTimings)[index] ?? 0);
  });

  it('hold a lease for three deadlines and sweep at least twice in a lease', () => {
    expect(leaseMs).to.be.at.least(3 * deadlineMs);
    expect(productionTimings.upkeep.sweepEveryMs).to.be.below(leaseMs / 2);
  });

  it('free an abandoned lease within 5 s of its end, as docs/reliability.md promises', () => {
    expect(productionTimings.upkeep.sweepEveryMs).to.be.below(5_000);
  });

  it('kill a hung worker, and replace a half-open connection to Redis, before a call’s deadline', () => {
    expect(poolTimings.hangLimitMs + poolTimings.checkIntervalMs).to.be.below(webhookTimeoutMs);
    expect(productionTimings.redis.minPatienceMs).to.be.below(webhookTimeoutMs);
  });

  it('retry the job of a killed worker within 7.5 s, also in a lane that was quiet before', () => {
    const { lockMs, stalledCheckMs, quietLookMs } = laneTimings;
    // A look marks the job. The check after the end of its lock retries it, and one interval may be lost.
    expect(Math.max(lockMs, quietLookMs) + 2 * stalledCheckMs).to.be.at.most(7_500);
  });

  it('kill no worker over a few late heartbeats or one late check', () => {
    expect(heartbeatTimings.quietMs).to.be.at.most(poolTimings.hangLimitMs / 5);
    expect(heartbeatTimings.busyMs).to.be.at.most(poolTimings.hangLimitMs / 10);
    expect(poolTimings.checkIntervalMs).to.be.at.most(poolTimings.hangLimitMs / 5);
  });

  it('give a draining gateway two readiness checks of a balancer that checks once a second', () => {
    expect(productionTimings.drain.graceMs).to.be.at.least(2_000);
    expect(productionTimings.drain.quietMs).to.be.at.least(2_000);
  });
});
