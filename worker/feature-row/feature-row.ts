import type { Manifest } from '../../shared/bundle/manifest.js';
import type { KnownFields } from '../../shared/known-fields.js';
import { type Cell, isAbsent } from '../../shared/packed-cell.js';
import { nothingKnown, type RecordProblem } from '../../shared/score-job.js';
import { compileFeatureReader, type FeatureReader, readStructure } from './feature-reader.js';
import {
  compileMissingTexts,
  missingRow,
  type Reading,
  type RowTarget,
  wasMissing,
  wasRead,
  wasUnreadable,
} from './missing-value.js';

/** Why a record cannot be featurized; `field` is empty when the record as a whole is the problem. */
export type FieldProblem = Omit<RecordProblem, 'record'>;

/** One row to write: `out` gets `width` numbers from `offset` on. */
export interface RowRequest extends RowTarget {
  /** By slot of the known fields, stored fields merged in. */
  readonly cells: readonly Cell[];
}

/** Turns packed records into a model's input rows. */
export interface FeatureRow {
  readonly width: number;
  /** Scalars that could not be read and were treated as missing, since this was compiled. */
  readonly unreadableCount: number;
  /**
   * Writes the input row of one record.
   * @returns undefined when it was written, else why not, one problem a field (the row then holds nothing of use)
   */
  write(request: RowRequest): readonly FieldProblem[] | undefined;
}

/**
 * Compiles a manifest's features.
 * @param manifest a checked manifest
 * @param knownFields compiled from the same manifest
 * @throws Error when a category alias stands for no category
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
  readonly #readers: readonly FeatureReader[];
  readonly #missingRow: Float32Array;
  #unreadableCount = 0;

  constructor(readers: readonly FeatureReader[], missing: Float32Array) {
    this.#readers = readers;
    this.#missingRow = missing;
    this.width = missing.length;
  }

  get unreadableCount(): number {
    return this.#unreadableCount;
  }

  write(request: RowRequest): readonly FieldProblem[] | undefined {
    request.out.set(this.#missingRow, request.offset);
    let anyKnown = false;
    let problems: FieldProblem[] | undefined;
    for (const reader of this.#readers) {
      const cell = request.cells[reader.slot];
      let reading: Reading | string = wasMissing;
      if (!isAbsent(cell)) {
        anyKnown = true;
        reading =
          typeof cell === 'object' ? readStructure(reader, cell, request) : reader.write(cell, request);
        if (reading === wasRead) continue;
        if (reading === wasUnreadable) this.#unreadableCount += 1;
      }
      if (typeof reading !== 'string' && !reader.required) continue;
      problems ??= [];
      addProblem(problems, reader, typeof reading === 'string' ? reading : whatCame(cell, reading));
    }
    return anyKnown || problems ? problems : [nothingKnown];
  }
}

/** Several features may read one field; it is named once. */
function addProblem(problems: FieldProblem[], { field, expected }: FeatureReader, came: string): void {
  if (!problems.some((problem) => problem.field === field)) problems.push({ field, expected, came });
}

/** What a required field held, in words that do not repeat the caller's data. */
function whatCame(cell: Cell, reading: Reading): string {
  if (isAbsent(cell)) return 'nothing';
  if (typeof cell === 'object') return 'null';
  if (reading === wasMissing) return 'a text that means missing';
  return typeof cell === 'string' ? 'a text that cannot be read' : `a ${typeof cell} that cannot be read`;
}
