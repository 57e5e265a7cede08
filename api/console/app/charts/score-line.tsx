import { line } from 'd3-shape';
import { instantText } from '../parts/formats.js';
import { Chart } from './chart.js';

interface Point {
  readonly scored_at: string;
  readonly score: number;
}

const [height, left, right, bottom] = [150, 34, 12, 24];
const marks = [0, 20, 40, 60, 80, 100];
const bandOf = (score: number): number => Math.min(4, Math.floor(score / 20));

/** Scores of one lead over time. The table below it has the figures. */
export function ScoreLine({ points }: { readonly points: readonly Point[] }) {
  const times = points.map((point) => Date.parse(point.scored_at));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const yOf = (score: number) => 8 + (height - bottom - 8) * (1 - score / 100);
  return (
    <Chart height={height} label={`Scores from ${dateOf(first)} to ${dateOf(last)}`}>
      {(width) => {
        const xOf = (time: number) =>
          left + 6 + ((width - left - right - 6) * (time - first)) / Math.max(last - first, 1);
        const path = line<Point>(
          (point) => xOf(Date.parse(point.scored_at)),
          (point) => yOf(point.score),
        )([...points]);
        return (
          <>
            {marks.map((mark) => (
              <g key={mark}>
                <line class="grid" x1={left} x2={width} y1={yOf(mark)} y2={yOf(mark)} />
                <text x={left - 8} y={yOf(mark) + 4} text-anchor="end">
                  {mark}
                </text>
              </g>
            ))}
            <path class="whisker" d={path ?? ''} />
            {points.map((point) => (
              <circle
                key={point.scored_at}
                class="dot"
                cx={xOf(Date.parse(point.scored_at))}
                cy={yOf(point.score)}
                r="4.5"
                fill={`var(--band-${bandOf(point.score)})`}
              />
            ))}
            <text x={left} y={height - 4}>
              {dateOf(first)}
            </text>
            <text x={width} y={height - 4} text-anchor="end">
              {dateOf(last)}
            </text>
          </>
        );
      }}
    </Chart>
  );
}

const dateOf = (time: number): string => instantText(new Date(time).toISOString()).replace(/,.*/, '');
