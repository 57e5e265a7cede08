import { max, ticks } from 'd3-array';
import { line } from 'd3-shape';
import { compactText, countText, shortDayText } from '../parts/formats.js';
import { ShowAsTable } from '../parts/table.js';
import type { UsageDays } from '../server/use-range.js';
import { Chart, Levels } from './chart.js';

interface Day {
  readonly day: string;
  readonly value: number;
  /** The number of which `value` is a part. */
  readonly whole?: number;
}
type Event = UsageDays['events'][number];

const [height, left, top, bottom] = [216, 40, 24, 24];
/** Pixels of the text of a day. */
const dayTextPx = 62;

/**
 * Bars of a figure by day, a dashed line of the days before, and a mark on each day with changes. The same as a table.
 * Today's bar is pale.
 */
export function RangeBars(props: {
  /** Such as `Records by day`. */
  readonly label: string;
  /** The heading of the figure in the table. */
  readonly unit: string;
  readonly days: readonly Day[];
  /** As many days before; empty without. */
  readonly before: readonly Day[];
  readonly events: readonly Event[];
  /** An instant; empty days before it have neither a bar nor a row. */
  readonly since: string;
  /** The heading of `whole` in the table, for figures that are a part of it. */
  readonly whole?: string;
}) {
  const { label, unit, days, before, events, since, whole } = props;
  const peak = max([...days, ...before], ({ value, whole: all = 0 }) => Math.max(value, all)) ?? 0;
  const marks = ticks(0, Math.max(peak, 4), 5);
  const most = Math.max(marks.at(-1) ?? 1, peak);
  const yOf = (value: number) => top + (height - bottom - top) * (1 - value / most);
  const today = new Date().toISOString().slice(0, 10);
  const hasBar = ({ day, value, whole: all = 0 }: Day) => value + all > 0 || day >= since.slice(0, 10);
  const textsOf = (day: string) => events.filter((each) => each.day === day).map(({ text, by }) => `${text} (${by})`);
  return (
    <>
      <Chart label={label} height={height}>
        {(width) => {
          const step = (width - left) / Math.max(days.length, 1);
          const middle = (index: number) => left + step * (index + 0.5);
          const every = Math.ceil(dayTextPx / step);
          const bar = (name: string, index: number, value: number) => (
            <rect
              class={name}
              x={left + step * (index + 0.16)}
              y={Math.min(yOf(value), height - bottom - 2)}
              width={step * 0.68}
              height={Math.max(height - bottom - yOf(value), 2)}
              rx={Math.min(3, step / 4)}
            />
          );
          const path = line<Day>()
            .x((_, index) => middle(index))
            .y(({ value }) => yOf(value));
          return (
            <>
              <Levels marks={marks} textOf={compactText} yOf={yOf} left={left} right={width} />
              {days.map((each, index) => {
                const texts = textsOf(each.day);
                const isLast = index === days.length - 1;
                const hasRoom = middle(index) > left + dayTextPx / 2 - 8 && middle(index) < width - 1.5 * dayTextPx;
                const isNamed = isLast || ((days.length - 1 - index) % every === 0 && hasRoom);
                return (
                  <g key={each.day}>
                    {each.whole !== undefined && each.whole > each.value && bar('bar of', index, each.whole)}
                    {hasBar(each) && bar(each.day === today ? 'bar pale' : 'bar', index, each.value)}
                    {isNamed && (
                      <text
                        x={isLast ? Math.min(middle(index) + dayTextPx / 3, width) : middle(index)}
                        y={height - 6}
                        text-anchor={isLast ? 'end' : 'middle'}
                      >
                        {shortDayText(each.day)}
                      </text>
                    )}
                    {texts.length > 0 && (
                      <g class="event">
                        <title>{`${shortDayText(each.day)}: ${texts.join('. ')}`}</title>
                        <line x1={middle(index)} x2={middle(index)} y1={top - 6} y2={height - bottom} />
                        <circle cx={middle(index)} cy={top - 12} r="5" />
                      </g>
                    )}
                  </g>
                );
              })}
              {before.length > 0 && <path class="before" d={path([...before]) ?? ''} />}
            </>
          );
        }}
      </Chart>
      <p class="legend small soft">
        {whole !== undefined && <span class="part">{unit.toLowerCase()}</span>}
        {whole !== undefined && <span class="of">all {whole.toLowerCase()}</span>}
        {before.length > 0 && <span class="dashed">the days before</span>}
        {events.length > 0 && <span class="marked">changes</span>}
      </p>
      <ShowAsTable
        label={label}
        columns={[
          'Day',
          ...(whole === undefined ? [] : [whole]),
          unit,
          ...(before.length > 0 ? ['Days before'] : []),
          'Changes',
        ]}
        rows={days
          .filter(hasBar)
          .map((each) => [
            each.day,
            ...(whole === undefined ? [] : [countText(each.whole ?? 0)]),
            countText(each.value),
            ...(before.length > 0 ? [countText(before[days.indexOf(each)]?.value ?? 0)] : []),
            textsOf(each.day).join('. '),
          ])}
      />
    </>
  );
}

/** The changes of the shown days in words, latest first. */
export function EventList({ of: events, hasMore }: { readonly of: readonly Event[]; readonly hasMore: boolean }) {
  if (events.length === 0) return null;
  return (
    <details>
      <summary>
        {countText(events.length)} {events.length === 1 ? 'change' : 'changes'} in these days
      </summary>
      <ul class="small">
        {events.toReversed().map(({ at, day, text, by }) => (
          <li key={at + text}>
            {shortDayText(day)}: {text} <span class="soft">({by})</span>
          </li>
        ))}
      </ul>
      {hasMore && <p class="small soft">Earlier ones are in the audit log.</p>}
    </details>
  );
}
