import { expect } from 'chai';
import { type RateBar, renderRateChart } from '../../../scripts/cli/output/charts.js';

const bar = (rate: number, records: number): RateBar => ({
  ...{ label: '80-100', records, conversions: Math.round(rate * records) },
  ...{ rate, low: rate / 2, high: rate * 1.5 },
});
const figures = (...bars: RateBar[]): string => renderRateChart(bars).replace(/[█▒░]/g, '').replace(/\s+/g, ' ');

describe('renderRateChart', () => {
  it('shows rates with one decimal, and with more when all rates would round to zero', () => {
    expect(figures(bar(0.5, 50))).to.equal('80-100 50.0 % [25.0, 75.0] 25 of 50');
    expect(figures(bar(0.008, 1000))).to.equal('80-100 0.8 % [0.4, 1.2] 8 of 1,000');
    expect(figures(bar(0.004, 1000))).to.equal('80-100 0.40 % [0.20, 0.60] 4 of 1,000');
    expect(figures(bar(0.00002, 2_000_000))).to.equal('80-100 0.0020 % [0.0010, 0.0030] 40 of 2,000,000');
    expect(figures(bar(0.4, 50), bar(0, 50))).to.include(' 0.0 % [0.0, 0.0] 0 of 50');
  });

  it('draws no bar without records', () => {
    expect(figures(bar(0, 0))).to.equal('80-100 no records');
  });
});
