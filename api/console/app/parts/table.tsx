import type { ComponentChildren, RefObject } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { countText } from './formats.js';

/** A folded row of more than ten cells first shows the first eight. */
const [mostCells, firstCells] = [10, 8];
/** A wide box scrolls a table of more columns, which would otherwise be a page of cards. In pixels, and columns. */
const [wideBox, manyColumns] = [720, 12];

/**
 * A table. Where it is too narrow for its columns, each row is a card with a line for each cell: the column and the
 * value. A row of many cells then shows the first ones, and a button shows the others.
 */
export function Table(props: {
  readonly label: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly ComponentChildren[])[];
}) {
  const { label, columns, rows } = props;
  const box = useRef<HTMLElement>(null);
  const [isLong, setLong] = useState(false);
  useFold(box, columns.length);
  const isLongRow = columns.length > mostCells;
  return (
    <section ref={box} class="scroll" aria-label={label} data-short={(isLongRow && !isLong) || undefined}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, column) => (
                <td key={columns[column]} class={isShort(cell) ? 'whole' : undefined} data-label={columns[column]}>
                  <div>{cell}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {isLongRow && (
        <button type="button" class="button more-cells" aria-expanded={isLong} onClick={() => setLong(!isLong)}>
          {isLong ? 'Show fewer columns' : `Show ${countText(columns.length - firstCells)} more columns`}
        </button>
      )}
    </section>
  );
}

/** Figures and dates stay in one line. */
const isShort = (cell: ComponentChildren): boolean => typeof cell === 'string' && cell.length < 24;

/** Folds the rows of a table that is wider than its box. A box that scrolls takes the focus, for the arrow keys. */
function useFold(box: RefObject<HTMLElement | null>, columns: number): void {
  const measure = useCallback(() => {
    const element = box.current;
    if (element === null) return;
    element.toggleAttribute('data-folded', false);
    const isTooWide = element.scrollWidth > element.clientWidth;
    const isScrolled = isTooWide && columns > manyColumns && element.clientWidth >= wideBox;
    element.toggleAttribute('data-folded', isTooWide && !isScrolled);
    if (isScrolled) element.tabIndex = 0;
    else element.removeAttribute('tabindex');
  }, [columns]);
  useLayoutEffect(measure);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    // A measure within the observation would change what is observed, which browsers report as an error.
    const observer = new ResizeObserver(() => requestAnimationFrame(measure));
    observer.observe(element);
    document.fonts.ready.then(measure);
    return () => observer.disconnect();
  }, [measure]);
}

/** The figures of a chart, for people who cannot see it or want to copy them. */
export function ShowAsTable(props: Parameters<typeof Table>[0]) {
  return (
    <details>
      <summary>Show as table</summary>
      <Table {...props} />
    </details>
  );
}
