import { max, ticks } from 'd3-array';
import { compactText, countText } from '../parts/formats.js';
import { ShowAsTable } from '../parts/table.js';
import { Chart, Levels } from './chart.js';

interface Day {
  readonly day: string;
  readonly records: number;
}

const [height, left, bottom] = [200, 40, 24];

/**
 * Bars of records by day until the end of the month, and the same figures as a table. Today's bar is pale.
 * @param since an instant; empty days before it have neither a bar nor a row
 */
export function DayBars({ days: all, since }: { readonly days: readonly Day[]; readonly since: string }) {
  const days = all.filter(({ day, records }) => records > 0 || day >= since.slice(0, 10));
  const peak = max(days, ({ records }) => records) ?? 0;
  const marks = ticks(0, Math.max(peak, 4), 5);
  const top = Math.max(marks.at(-1) ?? 1, peak);
  const yOf = (value: number) => 8 + (height - bottom - 8) * (1 - value / top);
  const today = new Date().toISOString().slice(0, 10);
  const classOf = (each: Day) => (!days.includes(each) ? '' : each.day === today ? 'bar pale' : 'bar');
  const shown = [...all.map((each) => ({ ...each, className: classOf(each) })), ...restOf(all)];
  return (
    <>
      <Chart label="Records by day" height={height}>
        {(width) => {
          const step = (width - left) / Math.max(shown.length, 1);
          return (
            <>
              <Levels marks={marks} textOf={compactText} yOf={yOf} left={left} right={width} />
              {shown.map(({ day, records, className }, index) => {
                const date = Number(day.slice(8));
                return (
                  <g key={day}>
                    {className && (
                      <rect
                        class={className}
                        x={left + step * (index + 0.16)}
                        y={Math.min(yOf(records), height - bottom - 2)}
                        width={step * 0.68}
                        height={Math.max(height - bottom - yOf(records), 2)}
                        rx={Math.min(3, step / 4)}
                      />
                    )}
                    {(date === 1 || date % 5 === 0) && (
                      <text x={Math.min(left + step * (index + 0.5), width - 8)} y={height - 6} text-anchor="middle">
                        {date}
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
        label="Records by day"
        columns={['Day', 'Records']}
        rows={days.map(({ day, records }) => [day, countText(records)])}
      />
    </>
  );
}

/** The days of the month that have not begun. */
function restOf(days: readonly Day[]): (Day & { readonly className: string })[] {
  const last = days.at(-1)?.day;
  if (last === undefined) return [];
  const [year = 0, month = 0, date = 0] = last.split('-').map(Number);
  const count = new Date(Date.UTC(year, month, 0)).getUTCDate();
  return Array.from({ length: count - date }, (_, index) => {
    const day = String(date + 1 + index).padStart(2, '0');
    return { day: `${last.slice(0, 8)}${day}`, records: 0, className: 'to-come' };
  });
}
