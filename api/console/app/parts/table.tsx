import type { ComponentChildren } from 'preact';

/** A table that scrolls by itself when it is wider than the page. Numbers stand at the right. */
export function Table(props: {
  readonly label: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly ComponentChildren[])[];
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: people without a mouse must be able to scroll
    <section class="scroll" aria-label={props.label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {props.columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, column) => (
                <td key={props.columns[column]} class={isShort(cell) ? 'whole' : undefined}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Figures and dates stay in one line: a narrow table scrolls. */
const isShort = (cell: ComponentChildren): boolean => typeof cell === 'string' && cell.length < 24;

/** The figures of a chart, for people who cannot see it or want to copy them. */
export function ShowAsTable(props: Parameters<typeof Table>[0]) {
  return (
    <details>
      <summary>Show as table</summary>
      <Table {...props} />
    </details>
  );
}
