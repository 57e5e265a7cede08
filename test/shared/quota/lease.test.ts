import { expect } from 'chai';
import { leaseMsOf, recentMs } from '../../../shared/quota/leases.js';

describe('a lease', () => {
  it('lasts three deadlines of the slowest endpoint, so that its call cannot be recorded after it', () => {
    expect(leaseMsOf({ requestTimeoutMs: 10_000, webhookTimeoutMs: 8_000 })).to.equal(30_000);
    expect(leaseMsOf({ requestTimeoutMs: 5_000, webhookTimeoutMs: 8_000 })).to.equal(24_000);
  });

  it('is outlived by what a restored counter knows of its call', () => {
    expect(recentMs(30_000)).to.equal(60_000);
  });
});
