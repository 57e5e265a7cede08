import { expect } from 'chai';
import fc from 'fast-check';
import { justBelow } from '../../../../worker/drivers/trees/node-decision.js';
import { gaussLegendre } from '../../../../worker/drivers/trees/walk-tables.js';

const float32 = fc.float({ noNaN: true });

describe('a threshold that must not be reached', () => {
  it('is the largest float32 below it: x < t is x <= that, for any float32 x', () => {
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

  it('is what no number reaches below the smallest of all', () => {
    expect(Number.NEGATIVE_INFINITY <= justBelow(Number.NEGATIVE_INFINITY)).to.equal(false);
    expect(justBelow(Number.POSITIVE_INFINITY)).to.equal(3.4028234663852886e38);
    expect(justBelow(Number.NaN)).to.deep.equal(Number.NaN);
  });
});

describe('the Gauss-Legendre quadrature', () => {
  it('is exact for polynomials up to twice its points less one, and not beyond', () => {
    for (let points = 1; points <= 12; points += 1) {
      const { nodes, weights } = gaussLegendre(points);
      const integral = (degree: number) =>
        nodes.reduce((sum, node, index) => sum + (weights[index] ?? 0) * node ** degree, 0);
      for (let degree = 0; degree < 2 * points; degree += 1)
        expect(integral(degree), `${points} points, degree ${degree}`).to.be.closeTo(1 / (degree + 1), 1e-14);
      if (points <= 6) expect(integral(2 * points)).to.not.be.closeTo(1 / (2 * points + 1), 1e-9);
    }
  });
});
