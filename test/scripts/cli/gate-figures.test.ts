import { expect } from 'chai';
import { gateFigures } from '../../../scripts/cli/validation/gate-figures.js';
import type { FailingGate } from '../../../shared/verdict.js';

const shown = (gate: FailingGate, figures: Readonly<Record<string, number>>): string =>
  gateFigures({ gate, state: 'cleared', figures });

describe('the figures of a gate in words', () => {
  const lift = (of: number, lowerBound: number): string =>
    shown('top_band_lift', { lift: of, required_lift: 1.2, lower_bound: lowerBound });
  const rise = (p: number, drop: number): string =>
    shown('rate_rises_with_band', {
      ...{ z: 1.6449, p, required_p: 0.05 },
      ...{ worst_drop_p: drop, drop_threshold: 0.0125 },
    });
  const named = (share: number): string =>
    shown('cohort_reconciles', { joined_share: share, required_share: 0.95 });

  it('have three digits, and as many more as it takes to tell them from what is required', () => {
    expect(lift(2.0812, 1.9712)).to.include('2.08x (1.20x required), lower bound 1.97x (above 1x)');
    expect(lift(1.1996, 1.1)).to.include('1.1996x (1.20x required)');
    expect(lift(1.2, 1)).to.include('1.20x (1.20x required), lower bound 1x (above 1x)');
    expect(lift(1.3, 1.0004)).to.include('lower bound 1.0004x (above 1x)');
    expect(rise(0.0499712, 0.3)).to.include('p 0.04997 (below 0.0500)');
    expect(rise(9.3e-96, 0.012498)).to.include('p 9.3e-96').and.include('0.012498 (not below 0.0125)');
  });

  it('say of how many records the top band is that is judged: bands may have been merged', () => {
    const top = { top_conversions: 45, top_records: 1050, rest_conversions: 80, rest_records: 200 };
    expect(shown('top_band_lift', top)).to.match(/\ntop band 45 of 1,050, others 80 of 200$/);
  });

  it('are whole numbers from a thousand on, and never powers of ten', () => {
    const expected = (conversions: number): string =>
      shown('outcomes_observed', { expected_conversions: conversions });
    expect(expected(1440.25)).to.include('1,440 expected');
    expect(expected(216_046.7)).to.include('216,047 expected');
    expect(expected(999.6)).to.include('1,000 expected');
    expect(expected(999.4)).to.include('999 expected');
  });

  it('a share that was not reached does not read as if it were', () => {
    expect(named(0.9496)).to.include('(94.9 %, 95.0 % required)');
    expect(named(0.99995)).to.include('(99.9 %,');
    expect(named(1)).to.include('(100 %,');
    expect(named(0.95)).to.include('(95.0 %,');
    expect(named(0.992)).to.include('(99.2 %,');
  });
});
