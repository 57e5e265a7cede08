import { type Cell, isAbsent } from '../../shared/messages/cells.js';
import {
  type ChunkPart,
  maxProblemsNamed,
  type PartReply,
  type RecordProblem,
} from '../../shared/messages/score-job.js';
import { quickRecords, type Steps } from '../drivers/time-slices.js';
import type { FieldProblem } from '../feature-row/feature-row.js';
import type { LoadedModel } from '../models/loaded-model.js';
import { type KnownLead, leadOf } from './lead-lookup.js';
import { FillIn } from './stored-fields.js';

/** A part whose records have feature rows. */
export interface FeaturizedPart {
  readonly part: ChunkPart;
  /** Index of its first row among the rows of the chunk. */
  readonly firstRow: number;
  /** The cells, as JSON, of each record into which stored fields were filled. */
  readonly filled: [row: number, fields: string][];
  /** The readings of each record's features, for explaining; empty otherwise. */
  readonly readings: Uint8Array;
}

/** A part with problems, none of whose records is scored. */
export interface Refused {
  readonly refused: PartReply;
}

export interface FeaturizeDeps {
  readonly model: LoadedModel;
  readonly leads: ReadonlyMap<string, KnownLead>;
  /** Room for the feature rows of all records. */
  readonly rows: Float32Array;
}

interface FeaturizeOneDeps extends FeaturizeDeps {
  readonly fillIn: FillIn;
  readonly firstRow: number;
}

/** Featurizes all parts of a chunk. Returns them, and the number of rows written. */
export function* featurize(
  parts: readonly ChunkPart[],
  by: FeaturizeDeps,
): Steps<{ readonly featurized: readonly (FeaturizedPart | Refused)[]; readonly rowCount: number }> {
  const fillIn = new FillIn(by.model.knownFields);
  const featurized: (FeaturizedPart | Refused)[] = [];
  let rowCount = 0;
  for (const part of parts) {
    const done = yield* featurizePart(part, { ...by, fillIn, firstRow: rowCount });
    featurized.push(done);
    if ('part' in done) rowCount += part.rows.length;
  }
  return { featurized, rowCount };
}

/** Fills in the records of a part and writes their feature rows; or refuses the part, with the problems found. */
function* featurizePart(part: ChunkPart, by: FeaturizeOneDeps): Steps<FeaturizedPart | Refused> {
  const { featureRow, manifest } = by.model;
  const problems = new Problems(part.firstRow);
  const filled = yield* fillPart(part, by, problems);
  // Reading long fields takes time: skip it for a part that is refused already.
  if (problems.count > 0) return { refused: problems.reply };
  const features = part.explain ? manifest.features.length : 0;
  const readings = new Uint8Array(part.rows.length * features);
  for (const [index, cells] of part.rows.entries()) {
    const offset = (by.firstRow + index) * featureRow.width;
    const ownReadings = features === 0 ? undefined : readings.subarray(index * features, (index + 1) * features);
    const request = { cells, nowMs: part.now, out: by.rows, offset, readings: ownReadings };
    for (const problem of (yield* featureRow.steps(request)) ?? []) problems.add(index, problem);
    if (index % quickRecords === 0) yield;
  }
  return problems.count > 0 ? { refused: problems.reply } : { part, firstRow: by.firstRow, filled, readings };
}

/** Fills in the records of a part, in place. Returns the cells of those that changed, as JSON. */
function* fillPart(
  part: ChunkPart,
  { model, leads, fillIn }: FeaturizeOneDeps,
  problems: Problems,
): Steps<[row: number, fields: string][]> {
  const filled: [number, string][] = [];
  for (const [index, sent] of part.rows.entries()) {
    const cells = sent as Cell[];
    const stored = leadOf(part, index, leads)?.stored;
    // Most records lack no field: skip parsing the stored fields of those.
    if (stored === undefined || !lacksFields(cells, model.knownFields.slotCount)) continue;
    const { text, problem } = fillIn.fill(cells, stored);
    if (text !== undefined) filled.push([index, text]);
    if (problem !== undefined) problems.add(index, problem);
    yield;
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
