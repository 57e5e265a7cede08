import { CsvRows } from '../../../shared/files/csv-rows.js';
import { type FoundRecords, recordAt } from '../../../shared/files/reading/file-records.js';
import { type Footer, FooterWatch, type RowKind } from '../../../shared/files/reading/footer-watch.js';
import type { FileShape } from '../../../shared/store/jobs/job-documents.js';

/** White space, quotes and line ends; 0xc2 and 0xa0 are a space that does not break. */
const blankBytes: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0x22, 0xc2, 0xa0]);

/** Finds the footer of a CSV in its records. It reads only those after an empty one. */
export class FooterSearch {
  private readonly watch = new FooterWatch();
  private row = 0;

  /** The footer, after the last record. */
  get footer(): Footer | undefined {
    return this.watch.footer;
  }

  see(found: FoundRecords, { columns, delimiter }: FileShape): void {
    if (columns.length < 2) return;
    const { bytes, from, to } = found;
    const { ends } = found.found;
    const delimiting = delimiter.charCodeAt(0);
    let start = from === 0 ? 0 : (ends[from - 1] as number);
    for (let index = from; index < to; index += 1) {
      this.row += 1;
      const begin = start;
      start = ends[index] as number;
      if (this.watch.isIdle && !isBlank(bytes, begin, start, delimiting)) continue;
      const record = recordAt(found, index);
      const row = new CsvRows(record.bytes.toString(), { delimiter, maxCells: 1, firstLine: record.line });
      row.next();
      const [text = ''] = row.cells;
      this.watch.see(kindOf(text, row.hasMore, record.bytes, delimiting), { row: this.row, line: record.line, text });
    }
  }
}

function isBlank(bytes: Uint8Array, begin: number, end: number, delimiting: number): boolean {
  for (let at = begin; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte !== delimiting && !blankBytes.has(byte)) return false;
  }
  return true;
}

function kindOf(text: string, hasMore: boolean, bytes: Uint8Array, delimiting: number): RowKind {
  if (text.trim() !== '') return hasMore ? 'other' : 'one';
  if (!hasMore) return 'blank';
  return isBlank(bytes, 0, bytes.length, delimiting) ? 'blank' : 'other';
}
