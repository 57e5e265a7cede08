import { expect } from 'chai';
import { gaussLegendre } from '../../../../worker/drivers/trees/walk-tables.js';

describe('gaussLegendre', () => {
  it('integrates polynomials exactly up to degree 2 * points - 1, and no higher', () => {
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
