import { setImmediate as nextStep } from 'node:timers/promises';
import { CsvRows } from '../../../shared/files/csv-rows.js';
import type { FileShape } from '../../../shared/files/file-form.js';
import { type FoundRecords, recordAt, textOf } from '../../../shared/files/reading/record-ends.js';
import { idOfText } from '../../../shared/files/reading/row-ids.js';
import { RepeatedIds, repeatsText } from '../../../shared/files/repeated-ids.js';
import { RowSurplus } from '../../../shared/files/row-surplus.js';
import { DecimalPoints } from '../../../shared/files/rows/decimal-points.js';
import { type Footer, FooterWatch, footerNotice } from '../../../shared/files/rows/footer-watch.js';
import { RowKinds } from '../../../shared/files/rows/row-kinds.js';
import { ShortRows } from '../../../shared/files/short-rows.js';
import { valueOfCell } from '../../../shared/files/spreadsheet-cell.js';
import type { KnownFields } from '../../../shared/messages/field-slots.js';
import type { JsonSurvey } from './json-survey.js';

/** 32 MiB, for 2.8 million ids. A runner reads two files at once. */
const maxIdSlots = 1 << 22;

/** Short rows that are read in one iteration of the event loop. They take a few milliseconds. */
const [rowsPerStep, recordsPerStep] = [10_000, 2_000];

/** A row of a CSV with content. */
interface SeenRow {
  readonly line: number;
  readonly isShort: boolean;
  /** Empty cells after the columns of the header. */
  readonly surplus: number;
  /** Undefined in a row whose cells do not fit the columns. */
  readonly id: string | null | undefined;
}

const noIds =
  'No row has a crm_id: its column is empty. Scores without one cannot be looked up later and cannot be graded';

/** The crm_id in a cell; null for one that is none. */
function idIn(cell: string): string | null {
  const read = idOfText(valueOfCell(cell));
  return 'id' in read ? read.id : null;
}

/** Reads the rows of a file in bounded memory, for the sentences about them. */
export class RowSurvey {
  private readonly watch = new FooterWatch();
  private readonly short = new ShortRows();
  private readonly surplusCells = new RowSurplus();
  private readonly ids = new RepeatedIds(maxIdSlots);
  /** Set with the first rows of a CSV. */
  private kinds: RowKinds | undefined;
  private points: DecimalPoints | undefined;
  /** The rows that are perhaps a footer: at most a hundred. */
  private waiting: SeenRow[] = [];
  private row = 0;
  private hasRow = false;
  /** Whether a row was read, and whether one had an id. */
  private hasRead = false;
  private hasIds = false;

  constructor(private readonly fields: KnownFields) {}

  /** After the last record: rows that are no footer count. */
  end(): void {
    if (this.footer === undefined) this.addWaiting();
  }

  /** The footer, after the end. */
  get footer(): Footer | undefined {
    return this.watch.footer;
  }

  /** The empty cells that each row has after the columns, after the end. */
  get surplus(): number {
    return this.surplusCells.common;
  }

  /** Whether a row has content and is not of the footer, after the end. */
  get hasContent(): boolean {
    return this.hasRow;
  }

  /** Sentences about the rows, after the end. */
  notices(): string[] {
    const { footer } = this;
    const repeats = repeatsText(this.ids.repeats, { quotesId: false });
    return [
      footer && footerNotice(footer),
      this.watch.totalsNotice,
      this.kinds?.notice,
      this.short.notice,
      this.surplusCells.notice,
      repeats,
      this.ids.edgesNotice,
      this.kinds?.hasIdColumn === true && this.hasRead && !this.hasIds ? noIds : undefined,
      this.points?.notice,
    ].filter((notice) => notice !== undefined);
  }

  /** Reads the next rows of a CSV. */
  async seeCsv(found: FoundRecords, { columns, delimiter, crm_id_field: idField }: FileShape): Promise<void> {
    const { text, line: firstLine } = textOf(found);
    const idColumn = idField === undefined ? -1 : columns.indexOf(idField);
    const { fields } = this;
    this.kinds ??= new RowKinds({ names: columns, idColumn: idColumn === -1 ? undefined : idColumn, fields });
    this.points ??= new DecimalPoints(columns, this.kinds.numberColumns);
    const { kinds, points } = this;
    const maxTexts = Math.max(idColumn, 0) + 1;
    const looksAtPoints = points.looksAt(text, { delimiter, row: this.row + 1 });
    const rows = new CsvRows(text, { delimiter, maxCells: columns.length, firstLine, maxTexts });
    while (rows.next()) {
      this.row += 1;
      if (this.row % rowsPerStep === 0) await nextStep();
      const kind = kinds.of(rows, this.row);
      if (columns.length > 1) this.watch.see(kind, { row: this.row, line: rows.line, text: rows.cells[0] ?? '' });
      if (!this.watch.isOpen) this.addWaiting();
      if (kind === 'blank' || kind === 'header') continue;
      if (looksAtPoints && !points.isOver) points.see(rows.everyCell());
      const { line, surplus } = rows;
      const isRow = this.surplusCells.allows(surplus) && rows.problemWith(surplus) === undefined;
      const id = isRow ? idIn(rows.cells[idColumn] ?? '') : undefined;
      const seen = { line, isShort: rows.count < columns.length, surplus, id };
      if (this.watch.isOpen) this.waiting.push(seen);
      else this.add(seen);
    }
  }

  /** Reads the next records of a JSONL file. */
  async seeJsonl(found: FoundRecords, json: JsonSurvey): Promise<void> {
    for (let index = found.from; index < found.to; index += 1) {
      if (index % recordsPerStep === 0) await nextStep();
      const { bytes, line } = recordAt(found, index);
      const text = bytes.toString().trim();
      if (text !== '') this.add({ line, isShort: false, surplus: 0, id: await json.see(text) });
    }
  }

  private addWaiting(): void {
    if (this.waiting.length === 0) return;
    for (const row of this.waiting) this.add(row);
    this.waiting = [];
  }

  private add({ line, isShort, surplus, id }: SeenRow): void {
    this.hasRow = true;
    this.surplusCells.see(surplus);
    if (isShort) this.short.add(line);
    this.hasRead ||= id !== undefined;
    if (id === undefined || id === null) return;
    this.hasIds = true;
    this.ids.add(id, line);
  }
}
