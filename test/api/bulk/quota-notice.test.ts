import { expect } from 'chai';
import { quotaNotice } from '../../../api/bulk/quota-notice.js';
import { usageReport } from '../../../shared/contract/plans.js';
import { sampleJob } from '../../support/jobs/sample-job.js';

const nowMs = Date.parse('2026-12-15T12:00:00Z');
const live = { limit: 10_000, hardStop: 20_000, backstop: 20_000 };
const test = { limit: 1_000, hardStop: 1_000, backstop: null };

describe('quotaNotice', () => {
  const noticeOf = (rows: number, used: number, { bucket = 'live', stop_at = 'limit' } = {}): string | undefined => {
    const { options, ...job } = sampleJob({ _id: 'job_1', org: 'org_1' });
    const usage = usageReport(used, bucket === 'live' ? live : test);
    return quotaNotice({ ...job, bucket, options: { ...options, stop_at } } as never, rows, { usage, nowMs });
  };

  it('is absent while all rows fit', () => {
    expect(noticeOf(8_925, 1_075)).to.equal(undefined);
    expect(noticeOf(18_925, 1_075, { stop_at: 'backstop' })).to.equal(undefined);
    expect(noticeOf(1_000, 0, { bucket: 'test' })).to.equal(undefined);
  });

  it('says how many rows fit, until when the job will pause, and what gives it more room', () => {
    expect(noticeOf(200_000, 1_075)).to.equal(
      'The file has 200,000 rows, and this month has room for 8,925 records until the limit. ' +
        'There the job will pause until the next month begins (2027-01-01 UTC). ' +
        'A job with "stop_at": "backstop" (--stop-at backstop) also uses the grace band: it has room for 18,925 records. ' +
        'The operator of the service can raise the limit',
    );
  });

  it('has no further room to offer at the backstop, and none to test keys but a live key', () => {
    expect(noticeOf(9, 20_000, { stop_at: 'backstop' })).to.equal(
      'The file has 9 rows, and this month has room for 0 records until the backstop. ' +
        'There the job will pause until the next month begins (2027-01-01 UTC). ' +
        'The operator of the service can raise the limit',
    );
    for (const stop_at of ['limit', 'backstop'])
      expect(noticeOf(1_001, 0, { bucket: 'test', stop_at })).to.equal(
        'The file has 1,001 rows, and this month has room for 1,000 records until the cap of test keys. ' +
          'There the job will pause until the next month begins (2027-01-01 UTC). ' +
          'A live key has the limit of the plan',
      );
  });

  it('counts no room below zero after a limit was lowered', () => {
    expect(noticeOf(9, 12_000)).to.include('room for 0 records until the limit').and.include('room for 8,000 records');
  });
});
