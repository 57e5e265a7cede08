import { changeText, countText } from '../parts/formats.js';
import type { UsageDays } from '../server/use-range.js';
import { EventList, RangeBars } from './range-bars.js';

const words = {
  records: { label: 'Records by day', unit: 'Records', one: 'record', many: 'records' },
  refused: { label: 'Refused calls by day', unit: 'Refused calls', one: 'refused call', many: 'refused calls' },
} as const;

/** A figure of the chosen days: its sum beside the days before, its chart, and the changes in these days. */
export function DayFigures(props: {
  readonly of: UsageDays;
  readonly bucket: UsageDays['buckets'][number]['bucket'];
  readonly figure: keyof typeof words;
}) {
  const { of: usage, bucket, figure } = props;
  const { label, unit, one, many } = words[figure];
  const own = usage.buckets.find((each) => each.bucket === bucket);
  if (own === undefined) return null;
  const valuesOf = (days: readonly { readonly day: string; readonly records: number; readonly refused: number }[]) =>
    days.map((each) => ({ day: each.day, value: each[figure] }));
  const [sum, before] = [own.sums[figure], own.sums_before[figure]];
  return (
    <>
      <p>
        <strong>
          {countText(sum)} {sum === 1 ? one : many}
        </strong>{' '}
        <span class="soft">{usage.before && changeText(sum, before, own.days.length)}</span>
      </p>
      {sum + before > 0 && (
        <RangeBars
          {...{ label, unit, events: usage.events, since: usage.created_at }}
          days={valuesOf(own.days)}
          before={valuesOf(own.days_before)}
        />
      )}
      <EventList of={usage.events} hasMore={usage.has_more_events} />
    </>
  );
}
