import { max, ticks } from 'd3-array';
import { compactText, countText } from '../parts/formats.js';
import { ShowAsTable } from '../parts/table.js';

/** Bars of records by day, and the same figures as a table. */
export function DayBars({ days }: { readonly days: readonly { day: string; records: number }[] }) {
  const [width, height, left, bottom] = [1000, 200, 40, 24];
  const marks = ticks(0, Math.max(max(days, ({ records }) => records) ?? 0, 4), 5);
  const top = marks.at(-1) ?? 1;
  const peak = Math.max(top, max(days, ({ records }) => records) ?? 0);
  const yOf = (value: number) => 8 + (height - bottom - 8) * (1 - value / peak);
  const step = (width - left) / Math.max(days.length, 1);
  return (
    <>
      <svg class="chart" viewBox={`0 0 ${width} ${height}`} role="img" aria-label="Records by day">
        {marks.map((mark) => (
          <g key={mark}>
            <line class="grid" x1={left} x2={width} y1={yOf(mark)} y2={yOf(mark)} />
            <text x={left - 8} y={yOf(mark) + 4} text-anchor="end">
              {compactText(mark)}
            </text>
          </g>
        ))}
        {days.map(({ day, records }, index) => {
          const date = Number(day.slice(8));
          return (
            <g key={day}>
              <rect
                class="bar"
                x={left + step * (index + 0.16)}
                y={Math.min(yOf(records), height - bottom - 1)}
                width={step * 0.68}
                height={Math.max(height - bottom - yOf(records), 1)}
                rx="3"
              />
              {(date === 1 || date % 5 === 0) && (
                <text x={left + step * (index + 0.5)} y={height - 6} text-anchor="middle">
                  {date}
                </text>
              )}
            </g>
          );
        })}
      </svg>
      <ShowAsTable
        label="Records by day"
        columns={['Day', 'Records']}
        rows={days.map(({ day, records }) => [day, countText(records)])}
      />
    </>
  );
}
