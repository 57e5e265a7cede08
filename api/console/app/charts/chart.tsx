import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

const minWidth = 240;

/** A drawing whose units are pixels of the page at every width, so that its text has one size on all screens. */
export function Chart(props: {
  /** For screen readers. */
  readonly label: string;
  readonly height: number | ((width: number) => number);
  readonly children: (width: number) => ComponentChildren;
}) {
  const box = useRef<SVGSVGElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = () => setWidth(Math.max(minWidth, Math.round(element.getBoundingClientRect().width)));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const height = typeof props.height === 'number' ? props.height : props.height(width);
  return (
    <svg
      ref={box}
      class="chart"
      viewBox={`0 0 ${Math.max(width, minWidth)} ${height}`}
      role="img"
      aria-label={props.label}
    >
      {width > 0 && props.children(width)}
    </svg>
  );
}

/** The colors of a chart with their meanings. */
export const Legend = ({ of: colors }: { readonly of: readonly (readonly [words: string, color: string])[] }) => (
  <ul class="legend small">
    {colors.map(([words, color]) => (
      <li key={words}>
        <svg viewBox="0 0 10 10" aria-hidden="true">
          <rect width="10" height="10" rx="3" fill={`var(--${color})`} />
        </svg>
        {words}
      </li>
    ))}
  </ul>
);

/** Level lines with a text on the left of each. */
export const Levels = (props: {
  readonly marks: readonly number[];
  readonly textOf: (mark: number) => string;
  readonly yOf: (mark: number) => number;
  readonly left: number;
  readonly right: number;
}) => (
  <>
    {props.marks.map((mark) => (
      <g key={mark}>
        <line class="grid" x1={props.left} x2={props.right} y1={props.yOf(mark)} y2={props.yOf(mark)} />
        <text x={props.left - 8} y={props.yOf(mark) + 4} text-anchor="end">
          {props.textOf(mark)}
        </text>
      </g>
    ))}
  </>
);

/** A text that is cut to some pixels. The mean width of a character is taken, because SVG does not cut text. */
export function cutText(text: string, widthPx: number): string {
  const characters = Math.max(4, Math.floor(widthPx / 6.6));
  return text.length > characters ? `${text.slice(0, characters - 1)}…` : text;
}
