import { max, ticks } from 'd3-array';
import { rateTexts } from '../../../../shared/contract/figures.js';
import { countText } from '../parts/formats.js';
import { ShowAsTable } from '../parts/table.js';
import { Chart } from './chart.js';

interface Band {
  readonly scores: string;
  readonly records: number;
  readonly conversions: number;
  readonly rate: number;
  readonly low: number;
  readonly high: number;
}

const [left, right, step, top] = [60, 62, 52, 24];

/** Conversion rates of the five score bands, highest scores first, with the 95 % Wilson interval as a whisker. */
export function RateBars({ bands }: { readonly bands: readonly Band[] }) {
  const highestFirst = [...bands].reverse();
  const records = bands.reduce((sum, band) => sum + band.records, 0);
  const mean = records === 0 ? 0 : bands.reduce((sum, band) => sum + band.conversions, 0) / records;
  const shown = bands.filter((band) => band.records > 0);
  const rateOf = rateTexts(max(shown, ({ high }) => high) ?? 0);
  const percentText = (rate: number) => `${rateOf(rate)} %`;
  const peak = Math.min(1, Math.max(0.05, mean, max(shown, ({ high }) => high) ?? 0) * 1.05);
  const bottom = top + step * bands.length;
  return (
    <>
      <Chart
        height={bottom + 24}
        label={`Conversion rate by score band; ${percentText(mean)} of all matured leads converted`}
      >
        {(width) => {
          const xOf = (rate: number) => left + ((width - left - right) * Math.min(rate, peak)) / peak;
          return (
            <>
              {ticks(0, peak, width > 400 ? 5 : 3).map((mark) => (
                <g key={mark}>
                  <line class="grid" x1={xOf(mark)} x2={xOf(mark)} y1={top} y2={bottom} />
                  <text x={xOf(mark)} y={bottom + 18} text-anchor="middle">
                    {`${Math.round(100 * mark)} %`}
                  </text>
                </g>
              ))}
              {highestFirst.map((band, row) => {
                const middle = top + step * (row + 0.5);
                return (
                  <g key={band.scores}>
                    <text class="strong" x={left - 10} y={middle + 4} text-anchor="end">
                      {band.scores}
                    </text>
                    <rect
                      x={left}
                      y={middle - 12}
                      width={Math.max(xOf(band.rate) - left, 1)}
                      height="24"
                      rx="4"
                      fill={`var(--band-${bands.length - 1 - row})`}
                    />
                    {band.records > 0 && (
                      <path
                        class="whisker"
                        d={`M${xOf(band.low)} ${middle - 6}v12M${xOf(band.low)} ${middle}H${xOf(band.high)}M${xOf(band.high)} ${middle - 6}v12`}
                      />
                    )}
                    <text class="strong" x={width - 4} y={middle + 4} text-anchor="end">
                      {band.records > 0 ? percentText(band.rate) : 'none'}
                    </text>
                  </g>
                );
              })}
              <line class="mean" x1={xOf(mean)} x2={xOf(mean)} y1={top - 6} y2={bottom} />
              <text class="mean-text" x={xOf(mean)} y={top - 10} text-anchor="middle">
                {`all leads ${percentText(mean)}`}
              </text>
            </>
          );
        }}
      </Chart>
      <ShowAsTable
        label="Conversion by score"
        columns={['Scores', 'Leads', 'Conversions', 'Rate', 'At least', 'At most']}
        rows={highestFirst.map((band) => [
          band.scores,
          countText(band.records),
          countText(band.conversions),
          ...[band.rate, band.low, band.high].map(percentText),
        ])}
      />
    </>
  );
}
