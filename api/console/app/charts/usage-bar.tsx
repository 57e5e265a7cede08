import { useId } from 'preact/hooks';
import { countText } from '../parts/formats.js';
import { Chart } from './chart.js';

/** Pixels of a character of a text, at most, and of the room between two texts. */
const [characterPx, betweenPx] = [7, 12];

/** Usage against limit and stop, with the forecast as a dashed mark. The hatched part is the grace band. */
export function UsageBar(props: {
  readonly used: number;
  readonly limit: number;
  readonly backstop: number | null;
  readonly forecast: number | undefined;
}) {
  const hatch = useId();
  const end = Math.max(props.backstop ?? props.limit, 1);
  const label = `${countText(props.used)} of ${countText(props.limit)} included records. Calls stop at ${countText(end)}.`;
  return (
    <Chart label={label} height={44}>
      {(width) => {
        const xOf = (value: number) => (width * Math.min(value, end)) / end;
        const limit = xOf(props.limit);
        const [included, stop] = [`${countText(props.limit)} included`, `${countText(end)} stop`];
        /** Where the text of the limit ends, and where that of the stop begins. */
        const from = limit + (characterPx * included.length) / 2 + betweenPx;
        const to = width - characterPx * stop.length;
        const hasRoom = from <= to;
        return (
          <>
            <defs>
              <pattern id={hatch} width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
                <rect width="8" height="8" fill="var(--warn-soft)" />
                <rect width="2" height="8" fill="var(--hatch)" />
              </pattern>
            </defs>
            <rect x="0" y="6" width={width} height="13" rx="6.5" fill="var(--line)" />
            <rect x={limit} y="6" width={width - limit} height="13" rx="3" fill={`url(#${hatch})`} />
            <rect x="0" y="6" width={xOf(props.used)} height="13" rx="6.5" class="bar" />
            {props.forecast !== undefined && (
              <line class="forecast" x1={xOf(props.forecast)} x2={xOf(props.forecast)} y1="1" y2="24" />
            )}
            <text x="0" y="40">
              0
            </text>
            {hasRoom && (
              <>
                <text x={limit} y="40" text-anchor="middle">
                  {included}
                </text>
                {to - from > characterPx * 'grace'.length + betweenPx && (
                  <text x={(from + to) / 2} y="40" text-anchor="middle">
                    grace
                  </text>
                )}
              </>
            )}
            <text x={width} y="40" text-anchor="end">
              {hasRoom ? stop : `${included}, stop${end > props.limit ? ` at ${countText(end)}` : ''}`}
            </text>
          </>
        );
      }}
    </Chart>
  );
}
