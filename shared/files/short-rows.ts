import { countText } from '../contract/figures.js';

/** Counts the rows of a CSV that have fewer cells than the header. */
export class ShortRows {
  private rows = 0;
  private firstLine = 0;

  add(line: number): void {
    this.rows += 1;
    if (this.rows === 1) this.firstLine = line;
  }

  /** The sentence about them; undefined without one. */
  get notice(): string | undefined {
    const { rows, firstLine } = this;
    if (rows === 0) return undefined;
    const count = rows === 1 ? '1 row has' : `${countText(rows)} rows have`;
    return `${count} fewer cells than the header, first in line ${firstLine}. The missing cells are read as empty`;
  }
}
