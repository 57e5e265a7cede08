import { shortenedText } from '../../shared/contract/texts.js';
import { type Cell, isAbsent } from '../../shared/messages/cells.js';
import {
  type ChunkPart,
  type FieldReadings,
  maxReportedValue,
  maxReportedValues,
  type ReadingKind,
  readingKinds,
} from '../../shared/messages/score-job.js';
import {
  type Reading,
  wasAmbiguous,
  wasMissing,
  wasRead,
  wasUnreadable,
  wasUnseen,
} from '../feature-row/cell-reading.js';
import type { SlotReadings } from '../feature-row/slot-readings.js';

const kindOf = (kind: ReadingKind): number => readingKinds.indexOf(kind);
const filled = kindOf('filled');
/** The index of the kind of each reading; -1 for a value that was read. */
const kindOfReading: Readonly<Record<Reading, number>> = {
  [wasRead]: -1,
  [wasMissing]: kindOf('missing'),
  [wasUnreadable]: kindOf('unread'),
  [wasUnseen]: kindOf('unseen'),
  [wasAmbiguous]: kindOf('ambiguous'),
};

/**
 * Sums up how the fields of a part's records were read.
 * @param part its accepted records, with stored fields filled in
 */
export function fieldReadings(
  { rows, reportsRecords }: Pick<ChunkPart, 'rows' | 'reportsRecords'>,
  slots: SlotReadings,
): FieldReadings {
  const tally = new Tally(slots.slotCount);
  const records: (number | string)[][] = [];
  for (let row = 0; row < rows.length; row += 1) {
    const ofRecord: (number | string)[] = [];
    for (let slot = slots.nextSet(row, 0); slot < slots.slotCount; slot = slots.nextSet(row, slot + 1)) {
      const reading = slots.of(row, slot);
      const isFilled = slots.isFilled(row, slot);
      if (reading === wasRead && !isFilled) continue;
      if (isFilled) tally.count(slot, filled);
      if (isFilled && reportsRecords) ofRecord.push(slot, filled, '');
      const kind = kindOfReading[reading];
      // A filled field is not missing, even if the model takes its value for missing.
      if (kind === -1 || (isFilled && reading === wasMissing)) continue;
      tally.count(slot, kind);
      const value = reading === wasMissing ? '' : reportedValue(rows[row]?.[slot]);
      if (reading === wasUnreadable || reading === wasUnseen) tally.addValue(slot, kind, value);
      if (reportsRecords) ofRecord.push(slot, kind, value);
    }
    if (reportsRecords) records.push(ofRecord);
  }
  return { ...tally.report(), ...(reportsRecords && { records }) };
}

class Tally {
  private readonly counts: Uint32Array;
  private readonly values = new Map<number, Map<string, number>>();

  constructor(slotCount: number) {
    this.counts = new Uint32Array(slotCount * readingKinds.length);
  }

  count(slot: number, kind: number): void {
    const at = slot * readingKinds.length + kind;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
  }

  addValue(slot: number, kind: number, value: string): void {
    const at = slot * readingKinds.length + kind;
    const values = this.values.get(at) ?? new Map<string, number>();
    this.values.set(at, values);
    const known = values.get(value);
    if (known === undefined && values.size >= maxReportedValues) return;
    values.set(value, (known ?? 0) + 1);
  }

  report(): Pick<FieldReadings, 'counts' | 'values'> {
    const kinds = readingKinds.length;
    const counts: number[] = [];
    // A loop without an iterator: a single pays for it too.
    for (let at = 0; at < this.counts.length; at += 1) {
      const records = this.counts[at] ?? 0;
      if (records > 0) counts.push(Math.floor(at / kinds), at % kinds, records);
    }
    if (this.values.size === 0) return { counts, values: [] };
    const values = [...this.values].flatMap(([at, ofSlot]) =>
      [...ofSlot].map(([value, records]) => [Math.floor(at / kinds), at % kinds, value, records] as const),
    );
    return { counts, values };
  }
}

/** The value of a cell as a short text. */
function reportedValue(cell: Cell): string {
  if (isAbsent(cell)) return '';
  if (!Array.isArray(cell)) return cut(String(cell));
  const values = cell.filter((value) => value !== null).slice(0, maxReportedValue);
  return cut(values.map((value) => cut(String(value))).join(';'));
}

function cut(text: string): string {
  // Trimming megabytes of white space would take as long as reading the rest of a chunk.
  const trimmed = text.slice(0, 4 * maxReportedValue).trim();
  return shortenedText(trimmed, maxReportedValue).toWellFormed();
}
