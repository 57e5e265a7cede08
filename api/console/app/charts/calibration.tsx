import { max } from 'd3-array';
import { rateTexts } from '../../../../shared/contract/figures.js';
import { countText } from '../parts/formats.js';
import { ShowAsTable } from '../parts/table.js';

interface Point {
  readonly scores: string;
  readonly records: number;
  readonly promised: number | null;
  readonly converted: number | null;
  readonly low: number;
  readonly high: number;
}

const [size, left, bottom] = [360, 52, 54];
const marks = [0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.7, 1];

/** Converted against promised likelihood by score band. Points of a calibrated model lie on the line. */
export function Calibration({ points }: { readonly points: readonly Point[] }) {
  const known = points.filter(
    (point): point is Point & { promised: number; converted: number } =>
      point.promised !== null && point.converted !== null,
  );
  const peak = Math.min(1, Math.max(0.1, max(known, ({ promised, high }) => Math.max(promised, high)) ?? 0) * 1.1);
  const shown = points.filter(({ records }) => records > 0);
  const rateOf = rateTexts(max(shown, ({ high }) => high) ?? 0);
  const percentText = (share: number | null) => (share === null ? '–' : `${rateOf(share)} %`);
  // The square root spreads small likelihoods, which most leads have.
  const along = (share: number) => Math.sqrt(Math.min(share, peak) / peak) * (size - left - 12);
  const [xOf, yOf] = [(share: number) => left + along(share), (share: number) => size - bottom - along(share) + 12];
  return (
    <>
      <svg
        class="chart narrow"
        viewBox={`0 0 ${size} ${size}`}
        role="img"
        aria-label="Conversion rate against promised likelihood, by score band"
      >
        {marks
          .filter((mark) => mark <= peak)
          .map((mark) => (
            <g key={mark}>
              <line class="grid" x1={left} x2={size - 12} y1={yOf(mark)} y2={yOf(mark)} />
              <text x={left - 8} y={yOf(mark) + 4} text-anchor="end">
                {`${Math.round(100 * mark)} %`}
              </text>
              <text x={xOf(mark)} y={yOf(0) + 18} text-anchor="middle">
                {mark === 0.01 ? '' : `${Math.round(100 * mark)} %`}
              </text>
            </g>
          ))}
        <line class="ideal" x1={xOf(0)} y1={yOf(0)} x2={xOf(peak)} y2={yOf(peak)} />
        {known.map((point) => (
          <g key={point.scores}>
            <path class="whisker" d={`M${xOf(point.promised)} ${yOf(point.low)}V${yOf(point.high)}`} />
            <circle class="bar" cx={xOf(point.promised)} cy={yOf(point.converted)} r="5" />
          </g>
        ))}
        <text x={size - 12} y={size - 4} text-anchor="end">
          promised likelihood
        </text>
      </svg>
      <ShowAsTable
        label="Calibration"
        columns={['Scores', 'Leads', 'Promised', 'Converted', 'At least', 'At most']}
        rows={points.map((point) => [
          point.scores,
          countText(point.records),
          ...[point.promised, point.converted, point.low, point.high].map(percentText),
        ])}
      />
    </>
  );
}
