import { line } from 'd3-shape';
import { shortDayText } from '../parts/formats.js';
import { Chart, Levels } from './chart.js';

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
    <Chart height={height} label={`Scores from ${shortDayText(first)} to ${shortDayText(last)}`}>
      {(width) => {
        const xOf = (time: number) =>
          left + 6 + ((width - left - right - 6) * (time - first)) / Math.max(last - first, 1);
        const path = line<Point>(
          (point) => xOf(Date.parse(point.scored_at)),
          (point) => yOf(point.score),
        )([...points]);
        return (
          <>
            <Levels marks={marks} textOf={String} yOf={yOf} left={left} right={width} />
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
              {shortDayText(first)}
            </text>
            <text x={width} y={height - 4} text-anchor="end">
              {shortDayText(last)}
            </text>
          </>
        );
      }}
    </Chart>
  );
}
