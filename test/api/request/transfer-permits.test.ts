import { expect } from 'chai';
import { TransferPermits } from '../../../api/request/uploads/transfer-permits.js';
import { ApiError } from '../../../shared/contract/errors.js';

const windowMs = 30_000;
const minBytesInWindow = 1_000;

describe('TransferPermits', () => {
  let nowMs: number;
  let permits: TransferPermits;

  beforeEach(() => {
    nowMs = 0;
    const limits = { name: 'uploads', inTotal: 3, perOrganisation: 2, minBytesInWindow, windowMs };
    permits = new TransferPermits(limits, () => nowMs);
  });

  const expectFull = (organisationId: string): void => {
    expect(() => permits.take(organisationId))
      .to.throw(ApiError)
      .that.has.nested.property('entry.code', 'job_limit_exceeded');
  };

  it('gives an organisation its share, and another one the rest', () => {
    const first = permits.take('one');
    permits.take('one');
    expectFull('one');
    permits.take('other');
    expectFull('other');
    first.free();
    permits.take('other');
  });

  it('ends a transfer that was slow for a whole window when another organisation needs its permit', () => {
    const [slow, fast] = [permits.take('one'), permits.take('one')];
    permits.take('other');
    fast.moved(minBytesInWindow);
    slow.moved(minBytesInWindow - 1);
    nowMs = windowMs - 1;
    expectFull('third');
    nowMs = windowMs;
    permits.take('third');
    expect(slow.signal.aborted).to.equal(true);
    expect(fast.signal.aborted).to.equal(false);
  });

  it('keeps transfers that were fast in the last whole window', () => {
    const transfers = [permits.take('one'), permits.take('one'), permits.take('other')];
    for (const transfer of transfers) transfer.moved(minBytesInWindow);
    nowMs = windowMs + 1;
    expectFull('third');
    expect(transfers.map(({ signal }) => signal.aborted)).to.deep.equal([false, false, false]);
  });
});
