import { expect } from 'chai';
import { TransferPlaces } from '../../../api/request/uploads/transfer-places.js';
import { ApiError } from '../../../shared/contract/errors.js';

const windowMs = 30_000;
const minBytesInWindow = 1_000;

describe('TransferPlaces', () => {
  let nowMs: number;
  let places: TransferPlaces;

  beforeEach(() => {
    nowMs = 0;
    const limits = { name: 'uploads', inTotal: 3, perOrganisation: 2, minBytesInWindow, windowMs };
    places = new TransferPlaces(limits, () => nowMs);
  });

  const expectFull = (organisationId: string): void => {
    expect(() => places.take(organisationId))
      .to.throw(ApiError)
      .that.has.nested.property('entry.code', 'job_limit_exceeded');
  };

  it('gives an organisation its share, and another one the rest', () => {
    const first = places.take('one');
    places.take('one');
    expectFull('one');
    places.take('other');
    expectFull('other');
    first.free();
    places.take('other');
  });

  it('ends a transfer that was slow for a whole window when another organisation needs its place', () => {
    const [slow, fast] = [places.take('one'), places.take('one')];
    places.take('other');
    fast.moved(minBytesInWindow);
    slow.moved(minBytesInWindow - 1);
    nowMs = windowMs - 1;
    expectFull('third');
    nowMs = windowMs;
    places.take('third');
    expect(slow.signal.aborted).to.equal(true);
    expect(fast.signal.aborted).to.equal(false);
  });

  it('keeps transfers that were fast in the last whole window', () => {
    const transfers = [places.take('one'), places.take('one'), places.take('other')];
    for (const transfer of transfers) transfer.moved(minBytesInWindow);
    nowMs = windowMs + 1;
    expectFull('third');
    expect(transfers.map(({ signal }) => signal.aborted)).to.deep.equal([false, false, false]);
  });
});
