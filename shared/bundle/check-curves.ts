import type { Calibration, Manifest } from './manifest.js';

/**
 * Checks what turns a raw probability into a score and a likelihood: `quantiles` ascending (equal neighbours are
 * fine), an isotonic `x` strictly ascending and `y` non-decreasing.
 * @param manifest a manifest of the right shape (numbers finite, probabilities within 0..1)
 * @returns what is wrong, possibly nothing
 */
export function curveProblems({ quantiles, calibration }: Manifest): string[] {
  return [...descents(quantiles, 'quantiles'), ...calibrationProblems(calibration)];
}

function calibrationProblems(calibration: Calibration): string[] {
  if (calibration.kind !== 'isotonic') return [];
  const { x, y } = calibration;
  const problems = [...descents(x, 'calibration.x', { strictly: true }), ...descents(y, 'calibration.y')];
  if (x.length !== y.length) {
    problems.push(`calibration.x has ${x.length} entries, but calibration.y has ${y.length}`);
  }
  return problems;
}

/** The first place where a list goes down (or, strictly, does not go up). */
function descents(values: readonly number[], name: string, { strictly = false } = {}): string[] {
  for (let index = 1; index < values.length; index += 1) {
    const before = values[index - 1] ?? Number.NaN;
    const value = values[index] ?? Number.NaN;
    if (value > before || (value === before && !strictly)) continue;
    return [`${name}[${index}] is ${value}, ${value < before ? 'below' : 'the same as'} the entry before it`];
  }
  return [];
}
