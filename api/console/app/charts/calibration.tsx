import { max } from 'd3-array';
import { rateTexts, wholePercentText } from '../../../../shared/contract/figures.js';
import { countText } from '../parts/formats.js';
import { ShowAsTable } from '../parts/table.js';
import { Chart, Levels } from './chart.js';

interface Point {
  readonly scores: string;
  readonly records: number;
  readonly promised: number | null;
  readonly converted: number | null;
  readonly low: number;
  readonly high: number;
}

const [left, right, top, bottom] = [52, 14, 12, 46];
const heightOf = (width: number): number => Math.round(Math.min(width, 380) * 0.86);
const marks = [0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.7, 1];

/** Converted against promised likelihood by score band. Points of a calibrated model lie on the line. */
export function Calibration({ points }: { readonly points: readonly Point[] }) {
  const known = points.filter(
    (point): point is Point & { promised: number; converted: number } =>
      point.promised !== null && point.converted !== null,
  );
  const peak = Math.min(1, Math.max(0.1, max(known, ({ promised, high }) => Math.max(promised, high)) ?? 0) * 1.1);
  const shares = marks.filter((mark) => mark <= peak);
  const shown = points.filter(({ records }) => records > 0);
  const rateOf = rateTexts(max(shown, ({ high }) => high) ?? 0);
  const percentText = (share: number | null) => (share === null ? '–' : `${rateOf(share)} %`);
  // The square root spreads small likelihoods, which most leads have.
  const along = (share: number, length: number) => Math.sqrt(Math.min(share, peak) / peak) * length;
  return (
    <>
      <Chart height={heightOf} label="Converted against promised likelihood, by score band">
        {(width) => {
          const height = heightOf(width);
          const xOf = (share: number) => left + along(share, width - left - right);
          const yOf = (share: number) => height - bottom - along(share, height - bottom - top);
          return (
            <>
              <Levels marks={shares} textOf={wholePercentText} yOf={yOf} left={left} right={width - right} />
              {shares
                .filter((share) => share !== 0.01)
                .map((share) => (
                  <text key={share} x={xOf(share)} y={yOf(0) + 18} text-anchor="middle">
                    {wholePercentText(share)}
                  </text>
                ))}
              <line class="ideal" x1={xOf(0)} y1={yOf(0)} x2={xOf(peak)} y2={yOf(peak)} />
              {known.map((point) => (
                <g key={point.scores}>
                  <path class="whisker" d={`M${xOf(point.promised)} ${yOf(point.low)}V${yOf(point.high)}`} />
                  <circle class="bar" cx={xOf(point.promised)} cy={yOf(point.converted)} r="5" />
                </g>
              ))}
              <text x={width - right} y={height - 6} text-anchor="end">
                promised likelihood
              </text>
            </>
          );
        }}
      </Chart>
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
