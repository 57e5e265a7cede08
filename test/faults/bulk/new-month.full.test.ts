import { expect } from 'chai';
import { monthEndMs, monthOf } from '../../../shared/contract/dates.js';
import type { Job } from '../../../shared/store/jobs/job-documents.js';
import { eventually } from '../../support/eventually.js';
import { type FaultService, faultService } from '../../support/faults/fault-service.js';
import { BulkJob } from '../../support/jobs/bulk-job.js';
import { expectJobExact, jobFile } from '../../support/jobs/job-checks.js';
import { jobWithinMs } from '../../support/jobs/job-faults.js';
import { startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';

/**
 * Times from the start of the service to the new month. A busy machine needs a longer one until the job pauses.
 */
const beginsInMs = [30_000, 120_000, 300_000] as const;
const exactWithinMs = 30_000;
const limit = 1_600;
const file = jobFile(2_500);

interface PausedJob {
  readonly own: TestWorkspace;
  readonly job: BulkJob;
  /** As it was read before the month began. */
  readonly before: Job;
}

describe('a bulk job when a month begins', () => {
  let service: FaultService | undefined;

  const stop = async (): Promise<void> => {
    await service?.stop();
    service = undefined;
  };
  after(async function () {
    this.timeout(startTimeoutMs);
    await stop();
  });

  /** Starts a service, and a job that pauses at its limit. @returns undefined if the month began before the pause */
  async function pausedBefore(beginMs: number): Promise<PausedJob | undefined> {
    service = await faultService({
      ...{ gateways: ['direct'], runners: ['direct'] },
      clockOffsetMs: monthEndMs(beginMs) - beginMs,
    });
    const own = await workspace(service, { limit });
    const job = await BulkJob.create(own, file.text);
    const before = await eventually(async () => {
      const read = await job.read();
      expect(read.state).to.be.oneOf(['paused', 'completed']);
      return read;
    }, jobWithinMs);
    return Date.now() < beginMs ? { own, job, before } : undefined;
  }

  it('pauses at the limit, resumes by itself in the next month, and counts each row in the month of its slice', async function () {
    this.timeout(beginsInMs.reduce((sum, ms) => sum + ms + startTimeoutMs + 2 * jobWithinMs, 0));
    let paused: PausedJob | undefined;
    let beginMs = 0;
    for (const inMs of beginsInMs) {
      beginMs = Date.now() + inMs;
      paused = await pausedBefore(beginMs);
      if (paused !== undefined) break;
      await stop();
    }
    if (service === undefined || paused === undefined) throw new Error('this machine is too slow for this test');
    const { clock, stores } = service;
    const { own, job } = paused;
    const { state, pause, settled } = paused.before;
    expect(state).to.equal('paused');
    expect(pause?.reason).to.equal('quota_exceeded');
    expect(settled.slices).to.equal(1);
    await job.until('completed', beginMs - Date.now() + jobWithinMs);
    const [first, second] = [monthOf(monthEndMs(beginMs) - 1), monthOf(monthEndMs(beginMs))];
    expect(monthOf(clock.now())).to.equal(second);
    await expectJobExact(job, file, exactWithinMs);
    const sumOf = (month: string) => stores.ledger.sum({ organisationId: own.id, bucket: 'live', month });
    expect([await sumOf(first), await sumOf(second)]).to.deep.equal([
      settled.scored,
      file.rows - file.failed - file.empty - settled.scored,
    ]);
    expect(await own.redisUsage()).to.deep.equal({ used: await sumOf(second), leased: 0 });
  });
});
