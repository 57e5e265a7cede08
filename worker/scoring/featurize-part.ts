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

/** A part whose records have been turned into feature rows. */
export interface FeaturizedPart {
  readonly part: ChunkPart;
  /** Where its rows begin. */
  readonly firstRow: number;
  /** Of the records that something was filled into, their cells as JSON. */
  readonly filled: [row: number, fields: string][];
}

/** What a part is featurized with. */
export interface FeaturizeWith {
  readonly model: LoadedModel;
  readonly leads: ReadonlyMap<string, KnownLead>;
  readonly fillIn: FillIn;
  readonly rows: Float32Array;
  readonly firstRow: number;
}

/** Fills in the records of a part and turns them into feature rows; else says why not. */
export function featurize(
  part: ChunkPart,
  by: FeaturizeWith,
): FeaturizedPart | { readonly refused: PartReply } {
  const { featureRow } = by.model;
  const problems = new Problems(part.firstRow);
  const filled = fillPart(part, by, problems);
  // What is refused already is not worth the time that long fields take to read.
  if (problems.count > 0) return { refused: problems.reply };
  let offset = by.firstRow * featureRow.width;
  for (const [index, cells] of part.rows.entries()) {
    const found = featureRow.write({ cells, nowMs: part.now, out: by.rows, offset });
    offset += featureRow.width;
    for (const problem of found ?? []) problems.add(index, problem);
  }
  return problems.count > 0 ? { refused: problems.reply } : { part, firstRow: by.firstRow, filled };
}

/** Fills in the records of a part, in place; tells those that something was filled into. */
function fillPart(
  part: ChunkPart,
  { model, leads, fillIn }: FeaturizeWith,
  problems: Problems,
): [row: number, fields: string][] {
  const filled: [number, string][] = [];
  for (const [index, sent] of part.rows.entries()) {
    const cells = sent as Cell[];
    const stored = leadOf(part, index, leads)?.stored;
    // Most records of a chunk lack nothing, even where some do: what is stored of them need not be parsed.
    if (stored === undefined || !lacksFields(cells, model.knownFields.slotCount)) continue;
    const { text, problem } = fillIn.fill(cells, stored);
    if (text !== undefined) filled.push([index, text]);
    if (problem !== undefined) problems.add(index, problem);
  }
  return filled;
}

/** Collects why records of a part are refused. */
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

/** Whether a record leaves a known field out. */
export function lacksFields(cells: readonly Cell[], slotCount: number): boolean {
  for (let slot = 0; slot < slotCount; slot += 1) if (isAbsent(cells[slot])) return true;
  return false;
}
