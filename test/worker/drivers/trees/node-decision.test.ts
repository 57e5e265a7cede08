import { expect } from 'chai';
import fc from 'fast-check';
import { justBelow } from '../../../../worker/drivers/trees/tree-ensemble.js';

const float32 = fc.float({ noNaN: true });

describe('justBelow', () => {
  it('converts x < t to x <= justBelow(t) for every float32 x', () => {
    const threshold = fc.oneof(float32, fc.double({ noNaN: true }));
    const near = (value: number) => [
      Math.fround(value),
      Math.fround(value * (1 + 2 ** -23)),
      Math.fround(value * (1 - 2 ** -23)),
    ];
    fc.assert(
      fc.property(threshold, float32, (limit, other) => {
        for (const value of [...near(limit), other, 0, -0, 2 ** -149, -(2 ** -149)])
          expect(value <= justBelow(limit), `${value} < ${limit}`).to.equal(value < limit);
      }),
      { numRuns: 2000 },
    );
  });

  it('returns NaN for -Infinity and NaN, and the largest finite float32 for Infinity', () => {
    expect(Number.NEGATIVE_INFINITY <= justBelow(Number.NEGATIVE_INFINITY)).to.equal(false);
    expect(justBelow(Number.POSITIVE_INFINITY)).to.equal(3.4028234663852886e38);
    expect(justBelow(Number.NaN)).to.deep.equal(Number.NaN);
  });
});
