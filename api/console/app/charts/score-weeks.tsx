import { bandScores } from '../../../../shared/contract/verdict.js';
import { countText, dayText, shortDayText } from '../parts/formats.js';
import { ShowAsTable } from '../parts/table.js';
import { Chart, Legend } from './chart.js';

interface Day {
  readonly day: string;
  readonly bands: readonly number[];
}

const weeksShown = 12;
const [height, left, bottom] = [240, 52, 26];
const weekMs = 7 * 24 * 60 * 60 * 1000;

/** Shares of the five score bands by week, from the first scores of leads. */
export function ScoreWeeks({ days }: { readonly days: readonly Day[] }) {
  const weeks = weeksOf(days).slice(-weeksShown);
  const yOf = (share: number) => (height - bottom - 8) * (1 - share) + 8;
  const labelWidth = Math.max(...weeks.map(({ first }) => shortDayText(first).length)) > 'dd Mmmm'.length ? 84 : 48;
  return (
    <>
      <Legend of={bandScores.map((name, band) => [name, `band-${band}`])} />
      <Chart height={height} label="Shares of score bands by week">
        {(width) => {
          const step = (width - left) / Math.max(weeks.length, 1);
          const labelEvery = Math.max(1, Math.ceil(labelWidth / step));
          return (
            <>
              {[0, 0.25, 0.5, 0.75, 1].map((share) => (
                <text key={share} x={left - 8} y={yOf(share) + 4} text-anchor="end">
                  {`${100 * share} %`}
                </text>
              ))}
              {weeks.map(({ first, bands }, index) => {
                const total = bands.reduce((sum, count) => sum + count, 0);
                let below = 0;
                return (
                  <g key={first}>
                    {bands.map((count, band) => {
                      const from = below / total;
                      below += count;
                      const y = yOf(below / total);
                      return (
                        <rect
                          key={bandScores[band]}
                          x={left + step * (index + 0.12)}
                          y={y}
                          width={step * 0.76}
                          height={Math.max(yOf(from) - y - 1, 0)}
                          rx="2"
                          fill={`var(--band-${band})`}
                        />
                      );
                    })}
                    {(weeks.length - 1 - index) % labelEvery === 0 && (
                      <text
                        x={Math.min(left + step * (index + 0.5), width - labelWidth / 2)}
                        y={height - 6}
                        text-anchor="middle"
                      >
                        {shortDayText(first)}
                      </text>
                    )}
                  </g>
                );
              })}
            </>
          );
        }}
      </Chart>
      <ShowAsTable
        label="Scores by week"
        columns={['Week from', ...bandScores]}
        rows={weeks.map(({ first, bands }) => [dayText(first), ...bands.map(countText)])}
      />
    </>
  );
}

/** Sums of the days by week, oldest first. Weeks without a score are left out. */
function weeksOf(days: readonly Day[]): { readonly first: string; readonly bands: readonly number[] }[] {
  const weeks = new Map<number, number[]>();
  for (const { day, bands } of days) {
    // 5 January 1970 was a Monday.
    const week = Math.floor(Date.parse(day) / weekMs - 4 / 7);
    const sums = weeks.get(week) ?? bandScores.map(() => 0);
    weeks.set(
      week,
      sums.map((sum, band) => sum + (bands[band] ?? 0)),
    );
  }
  return [...weeks]
    .filter(([, bands]) => bands.some((count) => count > 0))
    .map(([week, bands]) => ({ first: new Date((week + 4 / 7) * weekMs).toISOString().slice(0, 10), bands }));
}
