import type { Calibration, Manifest } from '../../shared/bundle/manifest/manifest.js';

const edge = 1e-7; // Platt scaling keeps raw this far from 0 and 1, where the logit is infinite
const tenThousandths = 10_000;

const sigmoid = (logit: number): number => {
  const decayed = Math.exp(-Math.abs(logit));
  return logit >= 0 ? 1 / (1 + decayed) : decayed / (1 + decayed);
};

/**
 * Compiles a model's calibration.
 * @param manifest a checked manifest
 * @returns a function from a raw probability to ten-thousandths, an integer 0..10000, half up; NaN for NaN
 */
export function compileLikelihood({ calibration }: Pick<Manifest, 'calibration'>): (raw: number) => number {
  const calibrated = compileCalibration(calibration);
  return (raw) => Math.floor(Math.min(Math.max(calibrated(raw), 0), 1) * tenThousandths + 0.5);
}

function compileCalibration(calibration: Calibration): (raw: number) => number {
  switch (calibration.kind) {
    case 'identity':
      return (raw) => raw;
    case 'platt': {
      const { a, b } = calibration;
      return (raw) => {
        const inside = Math.min(Math.max(raw, edge), 1 - edge);
        return sigmoid(a * Math.log(inside / (1 - inside)) + b);
      };
    }
    case 'isotonic':
      return compilePiecewiseLinear(calibration);
  }
}

/** Linear between the points, constant beyond both ends. The last of several points with one x counts. */
function compilePiecewiseLinear(points: { readonly x: readonly number[]; readonly y: readonly number[] }) {
  const x = Float64Array.from(points.x);
  const y = Float64Array.from(points.y);
  const last = x.length - 1;
  return (raw: number): number => {
    let low = 0;
    let high = last + 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((x[middle] ?? 0) <= raw) low = middle + 1;
      else high = middle;
    }
    const [x0 = 0, y0 = 0] = [x[low - 1], y[low - 1]];
    const [x1 = 0, y1 = 0] = [x[low], y[low]];
    if (low === 0) return Number.isNaN(raw) ? raw : y1;
    return low > last ? y0 : y0 + ((raw - x0) / (x1 - x0)) * (y1 - y0);
  };
}
