import { countText } from '../../contract/figures.js';
import { foldedText, longestForm } from '../../contract/texts.js';
import type { KnownFields } from '../../messages/field-slots.js';
import type { CsvRows } from '../csv-rows.js';
import { kindOfRow, type RowKind } from './footer-watch.js';
import { mayRepeatHeader, oddRowProblem, repeatsHeader } from './odd-rows.js';
import { isLabel, isNumeric, isTotal } from './total-words.js';

/** The header of the rows. */
export interface RowsHeader {
  readonly names: readonly string[];
  /** The column with the crm_id. */
  readonly idColumn: number | undefined;
  /** The fields of the model, if they are known. */
  readonly fields?: KnownFields | undefined;
}

/** Finds rows that are no leads: totals, lines of a footer, and the header once more. */
export class RowKinds {
  /** The values of the first column that the model knows, folded. */
  private readonly knownValues: ReadonlySet<string>;
  /** The columns that the model reads as numbers. */
  readonly numberColumns: readonly number[];
  /** Characters of the longest text that can be such a value. */
  private readonly maxKnown: number;
  private rowsWithId = 0;
  /** Whether a lead has no id: then a row without one need not be a total. */
  private hasLeadWithoutId = false;
  private repeats = { rows: 0, line: 0 };

  constructor(private readonly header: RowsHeader) {
    const { names, fields } = header;
    const features = fields?.featuresOf(names[0] ?? '') ?? [];
    const values = features.flatMap((feature) => ('categories' in feature ? feature.categories : []));
    this.knownValues = new Set(values.map(foldedText));
    this.maxKnown = values.reduce((most, value) => Math.max(most, longestForm(value)), 0);
    const isNumber = (name: string) => fields?.featuresOf(name).some(({ type }) => type === 'number') === true;
    this.numberColumns = names.flatMap((name, at) => (isNumber(name) ? [at] : []));
  }

  get hasIdColumn(): boolean {
    return this.header.idColumn !== undefined;
  }

  /** The sentence about rows that repeat the header; undefined without one. */
  get notice(): string | undefined {
    const { rows, line } = this.repeats;
    if (rows === 0) return undefined;
    if (rows === 1) return `Line ${line} repeats the header and was passed over`;
    return `${countText(rows)} lines repeat the header and were passed over, first line ${line}`;
  }

  /**
   * The kind of the current row.
   * @param number of the row, from 1 without the header
   */
  of(row: CsvRows, number: number): RowKind {
    const kind = kindOfRow(row);
    if (kind === 'blank') return kind;
    const { names, idColumn } = this.header;
    const { cells } = row;
    if (mayRepeatHeader(cells, names, number) && repeatsHeader(row.everyCell(), names, number)) {
      if (this.repeats.rows === 0) this.repeats.line = row.line;
      this.repeats.rows += 1;
      return 'header';
    }
    const first = cells[0] ?? '';
    const id = idColumn === undefined ? undefined : (cells[idColumn] ?? '');
    // A lead may be called Total, but then it has an id.
    if (id !== undefined && id !== '' && idColumn !== 0) {
      this.rowsWithId += 1;
      return kind;
    }
    if (isLabel(first)) return 'label';
    if (isTotal(first) && this.hasNumbersAlone(row)) return 'total';
    if (id === '') return this.ofRowWithoutId(row, { kind, number });
    this.rowsWithId += 1;
    return kind === 'one' && this.isKnown(first) ? 'other' : kind;
  }

  private ofRowWithoutId(row: CsvRows, { kind, number }: { readonly kind: RowKind; readonly number: number }): RowKind {
    // Nearly all rows of a file without ids end here.
    if (kind === 'other' && this.hasLeadWithoutId) return kind;
    const first = row.cells[0] ?? '';
    // A row of units or of dashes fails: it is no lead without an id.
    if (oddRowProblem(row.everyCell(), { number, idColumn: this.header.idColumn }) !== undefined) return 'other';
    if (kind === 'one') return this.isKnown(first) ? 'other' : kind;
    if (!this.hasLeadWithoutId && this.rowsWithId > 0 && this.hasNumbersAlone(row) && this.hasNumberOfModel(row))
      return 'total';
    this.hasLeadWithoutId = true;
    return kind;
  }

  private isKnown(text: string): boolean {
    return text.length <= this.maxKnown && this.knownValues.has(foldedText(text));
  }

  /** Whether the model reads a number of it. */
  private hasNumberOfModel(row: CsvRows): boolean {
    const cells = row.everyCell();
    return this.numberColumns.some((column) => (cells[column] ?? '').trim() !== '');
  }

  /** Whether it has only numbers and words for totals. */
  private hasNumbersAlone(row: CsvRows): boolean {
    return row.everyCell().every((cell) => cell.trim() === '' || isNumeric(cell) || isTotal(cell) || isLabel(cell));
  }
}
