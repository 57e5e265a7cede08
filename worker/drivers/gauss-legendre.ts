/** Points in (0, 1) and their weights, which sum to 1. */
export interface Quadrature {
  readonly nodes: Float64Array;
  readonly weights: Float64Array;
}

/**
 * The Gauss-Legendre quadrature on (0, 1), exact for polynomials up to degree 2 * count - 1. Roots of the Legendre
 * polynomial by Newton's method from Tricomi's first guess.
 * @param count how many points, at least 1
 */
export function gaussLegendre(count: number): Quadrature {
  const nodes = new Float64Array(count);
  const weights = new Float64Array(count);
  for (let index = 0; index < count; index += 1) {
    let root = Math.cos((Math.PI * (index + 0.75)) / (count + 0.5));
    let slope = 1;
    for (let step = 0; step < 100; step += 1) {
      const found = legendre(count, root);
      slope = found.slope;
      const change = found.value / slope;
      root -= change;
      if (Math.abs(change) < 1e-16) break;
    }
    slope = legendre(count, root).slope;
    nodes[index] = (1 + root) / 2;
    weights[index] = 1 / ((1 - root * root) * slope * slope);
  }
  return { nodes, weights };
}

function legendre(degree: number, at: number): { value: number; slope: number } {
  let before = 1;
  let value = at;
  for (let n = 2; n <= degree; n += 1) {
    const next = ((2 * n - 1) * at * value - (n - 1) * before) / n;
    before = value;
    value = next;
  }
  return { value, slope: (degree * (at * value - before)) / (at * at - 1) };
}
