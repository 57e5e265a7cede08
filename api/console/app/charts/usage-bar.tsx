import { countText } from '../parts/formats.js';

/** Usage against limit and stop, with the forecast as a dashed mark. */
export function UsageBar(props: {
  readonly used: number;
  readonly limit: number;
  readonly backstop: number | null;
  readonly forecast: number | undefined;
}) {
  const end = Math.max(props.backstop ?? props.limit, 1);
  const xOf = (value: number) => (1000 * Math.min(value, end)) / end;
  const label = `${countText(props.used)} of ${countText(props.limit)} included records. Calls stop at ${countText(end)}.`;
  return (
    <div>
      <svg class="chart" viewBox="0 0 1000 26" role="img" aria-label={label}>
        <rect x="0" y="6" width="1000" height="13" rx="6.5" fill="var(--line)" />
        <rect x={xOf(props.limit)} y="6" width={1000 - xOf(props.limit)} height="13" rx="6.5" fill="var(--warn-soft)" />
        <rect x="0" y="6" width={xOf(props.used)} height="13" rx="6.5" class="bar" />
        {props.forecast !== undefined && (
          <line
            x1={xOf(props.forecast)}
            x2={xOf(props.forecast)}
            y1="0"
            y2="26"
            stroke="var(--ink)"
            stroke-width="2"
            stroke-dasharray="4 3"
          />
        )}
      </svg>
      <p class="card-head small soft">
        <span>0</span>
        <span>{countText(props.limit)} included</span>
        <span>{countText(end)} stop</span>
      </p>
    </div>
  );
}
