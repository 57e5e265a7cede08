import { expect } from 'chai';
import fc from 'fast-check';
import { compilePercentileScore } from '../../../worker/models/percentile-score.js';

/** 101 ascending probabilities, with runs of equal ones. */
const quantiles = fc
  .oneof(
    fc.array(
      fc.integer({ min: 0, max: 30 }).map((step) => step / 30),
      { minLength: 101, maxLength: 101 },
    ),
    fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 101, maxLength: 101 }),
  )
  .map((values) => values.sort((left, right) => left - right));
const raw = fc.oneof(
  fc.integer({ min: 0, max: 60 }).map((step) => step / 60),
  fc.double({ min: 0, max: 1, noNaN: true }),
);

const isNear = (quantile: number, value: number): boolean => quantile >= value - 1e-6 && quantile <= value + 1e-6;

/** The definition, word for word: a scan instead of a search, ranks averaged one by one. */
function naiveScore(ascending: readonly number[], value: number): number {
  const equal = [...ascending.keys()].filter((index) => isNear(ascending[index] ?? 0, value));
  if (equal.length > 0) return Math.round(equal.reduce((sum, index) => sum + index, 0) / equal.length);
  const above = ascending.findIndex((quantile) => quantile > value);
  if (above === 0) return 0;
  if (above === -1) return 100;
  const [left = 0, right = 0] = ascending.slice(above - 1, above + 1);
  return Math.round(above - 1 + (value - left) / (right - left));
}

describe('the percentile score', () => {
  const percentiles = Array.from({ length: 101 }, (_, index) => index / 100);

  it('is interpolated between quantiles, and rounded half up', () => {
    const score = compilePercentileScore(Array.from({ length: 101 }, (_, index) => index));
    expect([0, 1, 57, 100].map(score)).to.deep.equal([0, 1, 57, 100]);
    expect([0.49, 0.5, 56.5, 57.5, 98.499].map(score)).to.deep.equal([0, 1, 57, 58, 98]);
  });

  it('is 0 below the first quantile and 100 above the last', () => {
    const score = compilePercentileScore(percentiles.map((quantile) => 0.2 + quantile / 2));
    expect([0, 0.19, 0.71, 1].map(score)).to.deep.equal([0, 0, 100, 100]);
  });

  it('is the middle of a run of equal quantiles, also at the ends', () => {
    const run = percentiles.map((_, index) => (index <= 40 ? 0.1 : index >= 91 ? 0.9 : 0.1 + index / 200));
    const score = compilePercentileScore(run);
    expect([0.1, 0.9, 0.09, 0.91].map(score)).to.deep.equal([20, 96, 0, 100]);
    expect(compilePercentileScore(percentiles.map(() => 0.5))(0.5)).to.equal(50);
  });

  it('does not move with the last bits of raw, at runs of quantiles that differ in their last bits', () => {
    const run = percentiles.map((_, index) => (index <= 60 ? 0.2 + (index % 2) * 1e-8 : 0.2 + index / 200));
    const score = compilePercentileScore(run.sort((left, right) => left - right));
    expect([0.2 - 5e-7, 0.2, 0.2 + 1e-8, 0.2 + 5e-7].map(score)).to.deep.equal([30, 30, 30, 30]);
    expect([0.2 - 3e-6, 0.2 + 3e-6].map(score)).to.deep.equal([0, 60]);
  });

  it('agrees with a scan that averages ranks', () => {
    fc.assert(
      fc.property(quantiles, raw, (ascending, value) => {
        expect(compilePercentileScore(ascending)(value)).to.equal(naiveScore(ascending, value));
      }),
      { numRuns: 1000 },
    );
  });

  it('never falls when raw rises, and stays an integer from 0 to 100', () => {
    fc.assert(
      fc.property(quantiles, fc.array(raw, { minLength: 2 }), (ascending, values) => {
        const scores = values.sort((left, right) => left - right).map(compilePercentileScore(ascending));
        for (const [index, score] of scores.entries()) {
          expect(Number.isInteger(score) && score >= 0 && score <= 100).to.equal(true);
          expect(score).to.be.at.least(scores[index - 1] ?? 0);
        }
      }),
    );
  });

  it('is NaN for NaN, and refuses another number of quantiles than 101', () => {
    expect(compilePercentileScore(percentiles)(Number.NaN)).to.be.NaN;
    expect(() => compilePercentileScore([0, 1])).to.throw(RangeError, /101/);
  });
});
