/** What was measured of one fault, for the table in docs/reliability.md; times in ms, by names that end in `_ms`. */
export interface FaultFigures {
  /** The fault, as the table calls it. */
  readonly fault: string;
  readonly [figure: string]: string | number | Readonly<Record<string, number>>;
}

/** Prints what was measured of a fault as one line of JSON after the word `measured`. Times are rounded to whole ms. */
export function printFigures(figures: FaultFigures): void {
  const rounded = Object.entries(figures).map(([name, figure]) => [
    name,
    typeof figure === 'number' ? Math.round(figure) : figure,
  ]);
  process.stdout.write(`    measured ${JSON.stringify(Object.fromEntries(rounded))}\n`);
}
