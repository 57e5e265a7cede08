import { expect } from 'chai';
import { monthEndMs, monthOf } from '../../../shared/contract/dates.js';
import { type FaultService, faultService } from '../../support/faults/fault-service.js';
import { BulkJob } from '../../support/jobs/bulk-job.js';
import { expectJobExact, jobFile } from '../../support/jobs/job-checks.js';
import { startTimeoutMs } from '../../support/service/service.js';
import { workspace } from '../../support/service/workspace.js';

/**
 * Time from the start of the service to the turn of the month. A busy machine needs half of it until the job pauses.
 */
const turnsInMs = 30_000;
const exactWithinMs = 30_000;

describe('a bulk job at the turn of a month', () => {
  let service: FaultService;

  before(async function () {
    this.timeout(startTimeoutMs);
    const nowMs = Date.now();
    const clockOffsetMs = monthEndMs(nowMs) - turnsInMs - nowMs;
    service = await faultService({ gateways: ['direct'], runners: ['direct'], clockOffsetMs });
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await service?.stop();
  });

  it('pauses at the limit, resumes by itself in the next month, and counts each row in the month of its slice', async function () {
    this.timeout(120_000);
    const first = monthOf(service.clock.now());
    const own = await workspace(service, { limit: 1_600 });
    const file = jobFile(2_500);
    const job = await BulkJob.create(own, file.text);
    const { pause, settled } = await job.until('paused', turnsInMs);
    expect(pause?.reason).to.equal('quota_exceeded');
    expect(settled.slices).to.equal(1);
    await job.until('completed', turnsInMs + 30_000);
    const second = monthOf(service.clock.now());
    expect(second > first, `${second} after ${first}`).to.equal(true);
    await expectJobExact(job, file, exactWithinMs);
    const sumOf = (month: string) => service.stores.ledger.sum({ organisationId: own.id, bucket: 'live', month });
    expect([await sumOf(first), await sumOf(second)]).to.deep.equal([
      settled.scored,
      file.rows - file.failed - file.empty - settled.scored,
    ]);
    expect(await own.redisUsage()).to.deep.equal({ used: await sumOf(second), leased: 0 });
  });
});
