import { type Cell, isAbsent } from '../../shared/messages/cells.js';
import {
  type ChunkPart,
  maxProblemsNamed,
  type PartReply,
  type RecordProblem,
} from '../../shared/messages/score-job.js';
import type { FieldProblem } from '../feature-row/feature-row.js';
import type { LoadedModel } from '../models/loaded-model.js';
import { type KnownLead, leadOf } from './lead-lookup.js';
import type { FillIn } from './stored-fields.js';

/** A part whose records have feature rows. */
export interface FeaturizedPart {
  readonly part: ChunkPart;
  /** Index of its first row among the rows of the chunk. */
  readonly firstRow: number;
  /** The cells, as JSON, of each record into which stored fields were filled. */
  readonly filled: [row: number, fields: string][];
}

export interface FeaturizeDeps {
  readonly model: LoadedModel;
  readonly leads: ReadonlyMap<string, KnownLead>;
  readonly fillIn: FillIn;
  readonly rows: Float32Array;
  readonly firstRow: number;
}

/** Fills in the records of a part and writes their feature rows; or refuses the part, with the problems found. */
export function featurize(part: ChunkPart, by: FeaturizeDeps): FeaturizedPart | { readonly refused: PartReply } {
  const { featureRow } = by.model;
  const problems = new Problems(part.firstRow);
  const filled = fillPart(part, by, problems);
  // Reading long fields takes time: skip it for a part that is refused already.
  if (problems.count > 0) return { refused: problems.reply };
  let offset = by.firstRow * featureRow.width;
  for (const [index, cells] of part.rows.entries()) {
    const found = featureRow.write({ cells, nowMs: part.now, out: by.rows, offset });
    offset += featureRow.width;
    for (const problem of found ?? []) problems.add(index, problem);
  }
  return problems.count > 0 ? { refused: problems.reply } : { part, firstRow: by.firstRow, filled };
}

/** Fills in the records of a part, in place. Returns the cells of those that changed, as JSON. */
function fillPart(
  part: ChunkPart,
  { model, leads, fillIn }: FeaturizeDeps,
  problems: Problems,
): [row: number, fields: string][] {
  const filled: [number, string][] = [];
  for (const [index, sent] of part.rows.entries()) {
    const cells = sent as Cell[];
    const stored = leadOf(part, index, leads)?.stored;
    // Most records lack no field: skip parsing the stored fields of those.
    if (stored === undefined || !lacksFields(cells, model.knownFields.slotCount)) continue;
    const { text, problem } = fillIn.fill(cells, stored);
    if (text !== undefined) filled.push([index, text]);
    if (problem !== undefined) problems.add(index, problem);
  }
  return filled;
}

/** Collects the problems of a part's records: counts all, names the first few. */
class Problems {
  count = 0;
  private readonly named: RecordProblem[] = [];

  constructor(private readonly firstRow: number) {}

  get reply(): PartReply {
    return { problems: this.named, problemCount: this.count };
  }

  add(index: number, problem: FieldProblem): void {
    this.count += 1;
    if (this.named.length < maxProblemsNamed) this.named.push({ record: this.firstRow + index, ...problem });
  }
}

/** Whether a record lacks a known field. */
export function lacksFields(cells: readonly Cell[], slotCount: number): boolean {
  for (let slot = 0; slot < slotCount; slot += 1) if (isAbsent(cells[slot])) return true;
  return false;
}
