import { max } from 'd3-array';
import { line } from 'd3-shape';

const [width, height] = [84, 24];

/** A small line over time without axes. A table, a figure beside it or its label has the values. Null is a gap. */
export function Spark(props: {
  readonly values: readonly (number | null)[];
  readonly top?: number;
  readonly label?: string;
}) {
  const { values, top, label } = props;
  const peak = top ?? Math.max(max(values, (value) => value ?? 0) ?? 0, 1e-9);
  const step = width / Math.max(values.length - 1, 1);
  // A single value becomes a line of no length, which its round ends show as a dot.
  const path = line<number | null>()
    .defined((value) => value !== null)
    .x((_, index) => step * index)
    .y((value) => height - 2 - ((height - 4) * (value ?? 0)) / peak);
  return (
    <svg
      class="spark line"
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={label}
      aria-hidden={label === undefined}
    >
      <path d={path([...values]) ?? ''} />
    </svg>
  );
}
