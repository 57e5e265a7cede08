import { type Cell, isAbsent } from '../../shared/messages/cells.js';
import type { KnownFields } from '../../shared/messages/field-slots.js';
import { maxChunkRecords, maxProblemsNamed } from '../../shared/messages/score-job.js';
import type { FieldProblem } from '../feature-row/feature-row.js';
import type { StoredLead } from './lead-lookup.js';

/** Half of what a body may be: what comes back of a chunk, and is recorded, stays about as much as what callers send. */
const maxFilledBytes = 4 * 1024 * 1024;
/** A lead of which no more is stored, and so much for each field, is always filled in, whatever else is in the chunk. */
const usualLength = maxFilledBytes / maxChunkRecords;
const usualFieldLength = 16;

/** A record after stored fields were filled in: its cells as JSON, or why they were not; neither when nothing was missing. */
export interface FilledRecord {
  readonly text?: string;
  readonly problem?: FieldProblem;
}

const nothingFilled: FilledRecord = {};

/** How much would be filled into a record, and the slot that most of it is for. */
interface Amount {
  readonly bytes: number;
  readonly maxSlot: number;
}

/**
 * Fills the records of one chunk in with what is stored of their leads. A small call may ask for long fields many times
 * over, so there is a limit for the leads of which much is stored: those beyond it are refused.
 */
export class FillIn {
  private leftBytes = maxFilledBytes;
  private refusedCount = 0;
  /** Of each lead of which much is stored, the bytes of what it would fill into each slot. */
  private readonly sizes = new Map<StoredLead, Map<number, number>>();

  private readonly alwaysFilledLength: number;

  constructor(private readonly knownFields: Pick<KnownFields, 'mergeStored' | 'slotNames' | 'slotCount'>) {
    this.alwaysFilledLength = usualLength + usualFieldLength * knownFields.slotCount;
  }

  /** @param cells changed in place */
  fill(cells: Cell[], lead: StoredLead): FilledRecord {
    if (lead.length > this.alwaysFilledLength) return this.fillMuch(cells, lead);
    const stored = lead.read();
    if (stored === undefined || !this.knownFields.mergeStored({ cells, stored })) return nothingFilled;
    return { text: JSON.stringify(cells) };
  }

  private fillMuch(cells: Cell[], lead: StoredLead): FilledRecord {
    // Nobody reads the names of those beyond, so that what is stored of them need not be parsed.
    if (this.refusedCount >= maxProblemsNamed) return { problem: problemOf('') };
    if (lead.length === Number.POSITIVE_INFINITY) {
      this.refusedCount += 1;
      return { problem: unreadProblem };
    }
    const stored = lead.read();
    const sent = cells.slice();
    if (stored === undefined || !this.knownFields.mergeStored({ cells, stored })) return nothingFilled;
    const { bytes, maxSlot } = this.amountOf(lead, { sent, filled: cells });
    this.leftBytes -= bytes;
    if (this.leftBytes >= 0) return { text: JSON.stringify(cells) };
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
  came: `nothing: the stored fields to be filled in are more than ${maxFilledBytes / 1024 / 1024} MiB together`,
});

const unreadProblem: FieldProblem = {
  field: '',
  expected: 'all fields to be sent, or fewer records at once',
  came: 'not all: more is stored of this lead than is read for so many',
};
