import type { Manifest } from '../../shared/bundle/manifest/manifest.js';
import { type Cell, isAbsent } from '../../shared/messages/cells.js';
import type { KnownFields } from '../../shared/messages/field-slots.js';
import { nothingKnown, type RecordProblem } from '../../shared/messages/score-job.js';
import { atOnce, type Steps } from '../pool/time-slices.js';
import {
  compileMissingTexts,
  hasValue,
  missingRow,
  type Reading,
  type RowTarget,
  wasMissing,
  wasRead,
  wasUnreadable,
  wasUnseen,
} from './cell-reading.js';
import { compileFeatureReader, type FeatureReader, readStructure } from './feature-reader.js';
import type { SlotReadings } from './slot-readings.js';

/** Why a record cannot be featurized. `field` is empty if the problem is the whole record. */
export type FieldProblem = Omit<RecordProblem, 'record'>;

/** One row to write: `width` numbers into `out`, starting at `offset`. */
interface RowRequest extends RowTarget {
  /** Indexed by slot of the known fields; stored fields are merged in. */
  readonly cells: readonly Cell[];
  /** Gets the reading of each feature, by its index in the manifest. */
  readonly readings?: Uint8Array | undefined;
  /** Gets the reading of each slot, at the index of this row. */
  readonly slotReadings?: SlotReadings | undefined;
  readonly slotRow?: number;
}

/** Converts packed records to a model's input rows. */
export interface FeatureRow {
  readonly width: number;
  /** Unreadable scalars that were treated as missing, counted since compilation. */
  readonly unreadableCount: number;
  /** Values that the model has not seen, counted since compilation. */
  readonly unseenCount: number;
  /**
   * Writes the input row of one record, in steps: a record may hold megabytes of text.
   * @returns undefined on success, else one problem per field; the row's content is then undefined
   */
  steps(request: RowRequest): Steps<readonly FieldProblem[] | undefined>;
  /** All steps at once. */
  write(request: RowRequest): readonly FieldProblem[] | undefined;
}

/** Reading a longer text is a step of its own. */
const maxQuickLength = 64;

/**
 * Compiles a manifest's features.
 * @param manifest a checked manifest
 * @param knownFields compiled from the same manifest
 * @throws Error when a category alias names an unknown category
 */
export function compileFeatureRow(
  manifest: Pick<Manifest, 'features' | 'width' | 'missing_tokens'>,
  { slotOfFeature }: Pick<KnownFields, 'slotOfFeature'>,
): FeatureRow {
  const missingTexts = compileMissingTexts(manifest.missing_tokens);
  const readers = manifest.features.map((feature, index) => {
    const slot = slotOfFeature[index];
    if (slot === undefined) throw new Error(`No slot was compiled for the feature of ${feature.field}`);
    return compileFeatureReader(feature, { slot, missingTexts });
  });
  return new CompiledRow(readers, missingRow(manifest));
}

class CompiledRow implements FeatureRow {
  readonly width: number;
  /** Whether another feature reads the slot of a feature as well. */
  private readonly isShared: readonly boolean[];
  private unreadable = 0;
  private unseen = 0;

  constructor(
    private readonly readers: readonly FeatureReader[],
    private readonly missing: Float32Array,
  ) {
    this.width = missing.length;
    const uses = new Map<number, number>();
    for (const { slot } of readers) uses.set(slot, (uses.get(slot) ?? 0) + 1);
    this.isShared = readers.map(({ slot }) => (uses.get(slot) ?? 0) > 1);
  }

  get unreadableCount(): number {
    return this.unreadable;
  }

  get unseenCount(): number {
    return this.unseen;
  }

  write(request: RowRequest): readonly FieldProblem[] | undefined {
    return atOnce(this.steps(request));
  }

  *steps(request: RowRequest): Steps<readonly FieldProblem[] | undefined> {
    request.out.set(this.missing, request.offset);
    const row: StartedRow = { request, anyKnown: false, problems: undefined };
    for (let index = this.writeQuick(row, 0); index < this.readers.length; index = this.writeQuick(row, index + 1)) {
      yield;
      const reader = this.readers[index] as FeatureReader;
      const cell = request.cells[reader.slot] as string | Extract<Cell, object>;
      const reading =
        typeof cell === 'object' ? yield* readStructure(reader, cell, request) : reader.write(cell, request);
      this.add(row, index, reading);
    }
    return row.anyKnown || row.problems ? row.problems : [nothingKnown];
  }

  /** Reads cells from one feature on, without a generator: most records are read at once. Returns the next slow one. */
  private writeQuick(row: StartedRow, first: number): number {
    const { request } = row;
    for (let index = first; index < this.readers.length; index += 1) {
      const reader = this.readers[index] as FeatureReader;
      const cell = request.cells[reader.slot];
      if (isSlow(cell)) return index;
      const isScalar = !isAbsent(cell) && typeof cell !== 'object';
      this.add(row, index, isScalar ? reader.write(cell, request) : wasMissing);
    }
    return this.readers.length;
  }

  private add(row: StartedRow, index: number, reading: Reading | string): void {
    const { cells, readings, slotReadings, slotRow = 0 } = row.request;
    const reader = this.readers[index] as FeatureReader;
    const cell = cells[reader.slot];
    row.anyKnown ||= !isAbsent(cell);
    if (reading === wasUnreadable) this.unreadable += 1;
    else if (reading === wasUnseen) this.unseen += 1;
    if (typeof reading !== 'string') {
      if (readings !== undefined) readings[index] = reading;
      if (reading !== wasRead || this.isShared[index]) slotReadings?.set(slotRow, reader.slot, reading);
      if (hasValue(reading) || !reader.required) return;
    }
    row.problems ??= [];
    addProblem(row.problems, reader, typeof reading === 'string' ? reading : whatCame(cell, reading));
  }
}

/** A row that is being written. */
interface StartedRow {
  readonly request: RowRequest;
  anyKnown: boolean;
  problems: FieldProblem[] | undefined;
}

/** Whether reading a cell may take long: a long text, or an array with values. */
function isSlow(cell: Cell): boolean {
  if (typeof cell === 'string') return cell.length > maxQuickLength;
  return typeof cell === 'object' && cell !== null && !(Array.isArray(cell) && cell.length === 0);
}

/** Adds a problem unless another feature of the same field has added one. */
function addProblem(problems: FieldProblem[], { field, expected }: FeatureReader, came: string): void {
  if (!problems.some((problem) => problem.field === field)) problems.push({ field, expected, came });
}

/** Describes the value of a required field without repeating the caller's data. */
function whatCame(cell: Cell, reading: Reading): string {
  if (isAbsent(cell)) return 'nothing';
  if (typeof cell === 'object') return 'null';
  if (reading === wasMissing) return 'a text that means missing';
  return typeof cell === 'string' ? 'a text that cannot be read' : `a ${typeof cell} that cannot be read`;
}
