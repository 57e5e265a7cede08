import { expect } from 'chai';
import { SeenUsage } from '../../../api/metering/seen-usage.js';

describe('SeenUsage', () => {
  const counter = { organisationId: 'org', bucket: 'live', month: '2026-01' } as const;

  it('knows nothing of a counter on which nothing was reserved: its stop may be near', () => {
    expect(new SeenUsage().isFarFromStop(counter, 1, 1_000_000)).to.equal(false);
  });

  it('goes by what was last used and held, up to nine tenths of the stop', () => {
    const seen = new SeenUsage();
    seen.note(counter, { used: 1_000, leased: 0 });
    expect(seen.isFarFromStop(counter, 1, 1_000)).to.equal(false);
    seen.note(counter, { used: 700, leased: 190 });
    expect(seen.isFarFromStop(counter, 10, 1_000)).to.equal(true);
    expect(seen.isFarFromStop(counter, 11, 1_000)).to.equal(false);
  });

  it('tells counters apart', () => {
    const seen = new SeenUsage();
    seen.note(counter, { used: 0, leased: 0 });
    for (const other of [{ organisationId: 'other' }, { bucket: 'test' }, { month: '2026-02' }] as const)
      expect(seen.isFarFromStop({ ...counter, ...other }, 1, 1_000)).to.equal(false);
  });
});
