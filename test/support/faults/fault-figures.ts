/** Measurements of one fault, for the table in docs/reliability.md. Names of times end in `_ms`. */
export interface FaultFigures {
  /** Name of the fault. */
  readonly fault: string;
  readonly [figure: string]: string | number | Readonly<Record<string, number>>;
}

/** Prints measurements as one line of JSON after the word `measured`. Numbers are rounded. */
export function printFigures(figures: FaultFigures): void {
  const rounded = Object.entries(figures).map(([name, figure]) => [
    name,
    typeof figure === 'number' ? Math.round(figure) : figure,
  ]);
  process.stdout.write(`    measured ${JSON.stringify(Object.fromEntries(rounded))}\n`);
}
