import { max } from 'd3-array';

const [width, height] = [84, 24];

/** A small line over time without axes. A table or a figure beside it has the values. Null is a gap. */
export function Spark({ values, top }: { readonly values: readonly (number | null)[]; readonly top?: number }) {
  const peak = top ?? Math.max(max(values, (value) => value ?? 0) ?? 0, 1e-9);
  const step = width / Math.max(values.length - 1, 1);
  let isOpen = false;
  const path = values.map((value, index) => {
    const command = isOpen ? 'L' : 'M';
    isOpen = value !== null;
    const at = `${(step * index).toFixed(1)} ${(height - 2 - ((height - 4) * (value ?? 0)) / peak).toFixed(1)}`;
    // A line of no length shows a single value as a dot.
    return value === null ? '' : command === 'M' ? `M${at}h0.1` : `L${at}`;
  });
  return (
    <svg class="spark line" viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      <path d={path.join('')} />
    </svg>
  );
}
