import { type Cell, isAbsent } from '../../shared/messages/cells.js';
import type { KnownFields } from '../../shared/messages/field-slots.js';
import { maxProblemsNamed, smallChunkRecords } from '../../shared/messages/score-job.js';
import type { FieldProblem } from '../feature-row/feature-row.js';
import type { StoredLead } from './lead-lookup.js';

/** Half of a body's limit, so that replies and recorded calls are not much larger than the bodies of callers. */
const maxFilledBytes = 4 * 1024 * 1024;
/** A lead with stored fields of up to this length, plus the length for each field, is filled in without a limit. */
const usualLength = maxFilledBytes / smallChunkRecords;
const usualFieldLength = 16;

/** The cells of a filled record as JSON, or why it is refused; neither when no stored field was missing in it. */
export interface FilledRecord {
  readonly text?: string;
  readonly problem?: FieldProblem;
}

const nothingFilled: FilledRecord = {};

/** Stored fields of a chunk of more than 250 records exceed the limit of a small chunk. */
export class TooLongFields extends Error {
  override name = 'TooLongFields';
}

/** The bytes that would be filled into a record, and the slot with most of them. */
interface Amount {
  readonly bytes: number;
  readonly maxSlot: number;
}

/**
 * Fills the stored fields of leads into the records of one chunk. Leads with long stored fields share a limit, and
 * records beyond it are refused. A small call could otherwise request the same long fields many times over.
 *
 * In a chunk of more than 250 records all leads share the limit, and no record is refused: in small chunks it may be
 * accepted.
 */
export class FillIn {
  private leftBytes = maxFilledBytes;
  private refusedCount = 0;
  /** Characters of the filled records of a large chunk. */
  private filledLength = 0;
  /** The bytes that each lead with long stored fields would fill into each slot. */
  private readonly sizes = new Map<StoredLead, Map<number, number>>();

  private readonly alwaysFilledLength: number;

  private readonly isLarge: boolean;

  /** @param records of the chunk */
  constructor(
    private readonly knownFields: Pick<KnownFields, 'mergeStored' | 'slotNames' | 'slotCount'>,
    records: number,
  ) {
    this.isLarge = records > smallChunkRecords;
    this.alwaysFilledLength = usualLength + usualFieldLength * knownFields.slotCount;
  }

  /**
   * @param cells changed in place
   * @throws TooLongFields
   */
  fill(cells: Cell[], lead: StoredLead): FilledRecord {
    const filled = this.fillOne(cells, lead);
    if (this.isLarge) this.checkLength(filled);
    return filled;
  }

  private fillOne(cells: Cell[], lead: StoredLead): FilledRecord {
    if (lead.length > this.alwaysFilledLength) return this.fillLimited(cells, lead);
    const stored = lead.read();
    if (stored === undefined || !this.knownFields.mergeStored({ cells, stored })) return nothingFilled;
    return { text: JSON.stringify(cells) };
  }

  private checkLength({ text, problem }: FilledRecord): void {
    this.filledLength += text?.length ?? 0;
    if (problem !== undefined || this.filledLength > maxFilledBytes) throw new TooLongFields();
  }

  private fillLimited(cells: Cell[], lead: StoredLead): FilledRecord {
    if (lead.length === Number.POSITIVE_INFINITY) return { problem: unreadProblem };
    // Most further records exceed the limit as well: skip parsing their fields.
    if (this.refusedCount >= maxProblemsNamed) return { problem: problemOf('') };
    const stored = lead.read();
    const sent = cells.slice();
    if (stored === undefined || !this.knownFields.mergeStored({ cells, stored })) return nothingFilled;
    const { bytes, maxSlot } = this.amountOf(lead, { sent, filled: cells });
    if (bytes <= this.leftBytes) {
      this.leftBytes -= bytes;
      return { text: JSON.stringify(cells) };
    }
    this.refusedCount += 1;
    return { problem: problemOf(this.knownFields.slotNames[maxSlot] ?? '') };
  }

  private amountOf(
    lead: StoredLead,
    { sent, filled }: { readonly sent: readonly Cell[]; readonly filled: readonly Cell[] },
  ): Amount {
    const sizes = this.sizes.get(lead) ?? new Map<number, number>();
    this.sizes.set(lead, sizes);
    let bytes = 0;
    let maxSlot = -1;
    for (const [slot, cell] of filled.entries()) {
      if (isAbsent(cell) || !isAbsent(sent[slot])) continue;
      const size = sizes.get(slot) ?? Buffer.byteLength(JSON.stringify(cell));
      sizes.set(slot, size);
      bytes += size;
      if (size > (sizes.get(maxSlot) ?? 0)) maxSlot = slot;
    }
    return { bytes, maxSlot };
  }
}

const problemOf = (field: string): FieldProblem => ({
  field,
  expected: 'the field to be sent, or fewer records at once',
  came: `nothing: the stored values of these records exceed ${maxFilledBytes / 1024 / 1024} MiB together`,
});

const unreadProblem: FieldProblem = {
  field: '',
  expected: 'all fields to be sent, or fewer records at once',
  came: 'some: the stored values of this lead are too long to be read for so many records',
};
