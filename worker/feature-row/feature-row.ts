import type { Manifest } from '../../shared/bundle/manifest/manifest.js';
import { type Cell, isAbsent } from '../../shared/messages/cells.js';
import type { KnownFields } from '../../shared/messages/field-slots.js';
import { nothingKnown, type RecordProblem } from '../../shared/messages/score-job.js';
import {
  compileMissingTexts,
  missingRow,
  type Reading,
  type RowTarget,
  wasMissing,
  wasRead,
  wasUnreadable,
} from './cell-reading.js';
import { compileFeatureReader, type FeatureReader, readStructure } from './feature-reader.js';

/** Why a record cannot be featurized. `field` is empty if the problem is the whole record. */
export type FieldProblem = Omit<RecordProblem, 'record'>;

/** One row to write: `width` numbers into `out`, starting at `offset`. */
export interface RowRequest extends RowTarget {
  /** Indexed by slot of the known fields; stored fields are merged in. */
  readonly cells: readonly Cell[];
}

/** Turns packed records into a model's input rows. */
export interface FeatureRow {
  readonly width: number;
  /** Unreadable scalars that were treated as missing, counted since compilation. */
  readonly unreadableCount: number;
  /**
   * Writes the input row of one record.
   * @returns undefined on success, else one problem per field; the row's content is then undefined
   */
  write(request: RowRequest): readonly FieldProblem[] | undefined;
}

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
  private unreadable = 0;

  constructor(
    private readonly readers: readonly FeatureReader[],
    private readonly missing: Float32Array,
  ) {
    this.width = missing.length;
  }

  get unreadableCount(): number {
    return this.unreadable;
  }

  write(request: RowRequest): readonly FieldProblem[] | undefined {
    request.out.set(this.missing, request.offset);
    let anyKnown = false;
    let problems: FieldProblem[] | undefined;
    for (const reader of this.readers) {
      const cell = request.cells[reader.slot];
      let reading: Reading | string = wasMissing;
      if (!isAbsent(cell)) {
        anyKnown = true;
        reading = typeof cell === 'object' ? readStructure(reader, cell, request) : reader.write(cell, request);
        if (reading === wasRead) continue;
        if (reading === wasUnreadable) this.unreadable += 1;
      }
      if (typeof reading !== 'string' && !reader.required) continue;
      problems ??= [];
      addProblem(problems, reader, typeof reading === 'string' ? reading : whatCame(cell, reading));
    }
    return anyKnown || problems ? problems : [nothingKnown];
  }
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
