import { listedNames } from '../reading/csv-columns.js';

/** Rows that are looked at: they show how the numbers of a file are written. */
const maxRows = 1_000;
/** Nearly all texts lack one of both, and so have nothing to tell. Where commas part cells, a decimal one is quoted. */
const anyThreeDigits = /\d\.\d{3}(?!\d)/;
const shortText = 16 * 1024; // characters
const [anyComma, anyQuotedComma] = [/\d,\d/, /"[\s+-]*[\d.]+,\d/];
/** `1.200`: a point for thousands in some countries, and a decimal one in others. */
const threeDigits = /^[+-]?\d{1,3}\.\d{3}$/;
const otherPoint = /^[+-]?\d+\.(?:\d{1,2}|\d{4,})%?$/;
const decimalComma = /^[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+),(?:\d{1,2}|\d{4,})\s*%?$/;

/** Finds columns whose points perhaps separate thousands, in a file with decimal commas. */
export class DecimalPoints {
  private rows = 0;
  private hasComma = false;
  private readonly places: { readonly at: number; readonly name: string; three: number; other: number }[];

  /** @param columns those that the model reads as numbers */
  constructor(names: readonly string[], columns: readonly number[]) {
    this.places = columns.map((at) => ({ at, name: names[at] ?? '', three: 0, other: 0 }));
  }

  /** Whether it has seen as many rows as it looks at. */
  get isOver(): boolean {
    return this.rows === maxRows;
  }

  /**
   * Whether it looks at the rows of a text.
   * @param row number of the first one
   */
  looksAt(text: string, { delimiter, row }: { readonly delimiter: string; readonly row: number }): boolean {
    if (row > maxRows || this.places.length === 0) return false;
    if (text.length < shortText) return true;
    return (delimiter === ',' ? anyQuotedComma : anyComma).test(text) && anyThreeDigits.test(text);
  }

  /** @param cells of the next row of such a text */
  see(cells: readonly string[]): void {
    this.rows += 1;
    for (const place of this.places) {
      const cell = (cells[place.at] ?? '').trim();
      if (threeDigits.test(cell)) place.three += 1;
      else if (otherPoint.test(cell)) place.other += 1;
      else if (decimalComma.test(cell)) this.hasComma = true;
    }
  }

  /** The sentences about these columns; undefined without one. */
  get notice(): string | undefined {
    const found = this.places.filter(({ three, other }) => three > 0 && other === 0).map(({ name }) => name);
    if (!this.hasComma || found.length === 0) return undefined;
    const columns = `${found.length === 1 ? 'The column' : 'The columns'} ${listedNames(found)}`;
    const has = found.length === 1 ? 'has' : 'have';
    return `${columns} ${has} points before three digits, and the file has decimal commas. A value such as 1.200 is read as 1.2. Remove points that separate thousands`;
  }
}
