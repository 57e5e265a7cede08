import { InputFault } from './reading/input-fault.js';

/** Rows that decide, where a file is read only once. */
const maxRows = 1_000;

/**
 * Finds whether each row of a CSV has the same number of empty cells after the columns of the header. Then they are the
 * form of the file. In some rows alone they are a mistake: a delimiter that is not quoted has moved the cells.
 */
export class RowSurplus {
  private rows = 0;
  private cells = 0;
  private isCommon = true;

  /** The surplus cells of each row so far; 0 if rows differ. */
  get common(): number {
    return this.isCommon ? this.cells : 0;
  }

  /** The sentence about such cells; undefined without them. */
  get notice(): string | undefined {
    const { common } = this;
    if (common === 0) return undefined;
    const cells = common === 1 ? '1 empty cell' : `${common} empty cells`;
    return `Each row has ${cells} after the columns of the header. If values are in a wrong column, quote cells that contain a delimiter`;
  }

  /** Whether further rows decide about the rows so far. */
  get isOpen(): boolean {
    return this.common > 0 && this.rows < maxRows;
  }

  /** Whether a further row with so many surplus cells is like those before it. */
  allows(surplus: number): boolean {
    return this.rows === 0 || surplus === this.common;
  }

  /** @param surplus of the next row with content */
  see(surplus: number): void {
    if (this.rows === 0) this.cells = surplus;
    this.rows += 1;
    this.isCommon &&= surplus === this.cells;
  }

  /**
   * Adds a row after those that decided, in a file that is read only once.
   * @throws InputFault when it has another number of cells: then those of the rows before it are perhaps a mistake
   */
  seeLater(surplus: number, line: number): void {
    const { common } = this;
    this.see(surplus);
    if (common === 0 || this.isCommon || this.rows <= maxRows) return;
    const before = `The rows before line ${line} have ${common} more ${common === 1 ? 'cell' : 'cells'} than the header`;
    throw new InputFault(`${before}, but this row has ${surplus}. Quote cells that contain a delimiter`, { line });
  }
}
