import { type Cell, gapsOf, isAbsent } from '../../shared/messages/cells.js';
import {
  type ChunkPart,
  maxProblemsNamed,
  type PartReply,
  type RecordProblem,
} from '../../shared/messages/score-job.js';
import type { FieldProblem } from '../feature-row/feature-row.js';
import { SlotReadings } from '../feature-row/slot-readings.js';
import type { LoadedModel } from '../models/loaded-model.js';
import { quickRecords, type Steps } from '../pool/time-slices.js';
import { type KnownLead, leadOf } from './lead-lookup.js';
import { type FilledRecord, FillIn, TooLongFields } from './stored-fields.js';

/** A part whose records have feature rows. */
export interface FeaturizedPart {
  /** Without the records that were refused one by one. */
  readonly part: ChunkPart;
  /** Index of its first row among the rows of the chunk. */
  readonly firstRow: number;
  /** The cells, as JSON, of each record into which stored fields were filled. */
  readonly filled: readonly (readonly [row: number, fields: string])[];
  /** The warnings of the recency guard. */
  readonly warnings: readonly (readonly [row: number, warning: string])[];
  /** The readings of each record's features, for explaining; empty otherwise. */
  readonly readings: Uint8Array;
  readonly slotReadings: SlotReadings;
  /** Only for a tolerant part. */
  readonly tolerated?: Tolerated;
}

/** The records of a tolerant part, by their index in the call. */
export interface Tolerated {
  /** In the order of their rows. */
  readonly accepted: readonly number[];
  readonly refused: readonly RecordProblem[];
}

/** A part with problems or too long stored fields, none of whose records is scored. */
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

interface FillDeps extends Pick<FeaturizeOneDeps, 'model' | 'leads' | 'fillIn'> {
  readonly slotReadings: SlotReadings;
}

/** Reads all parts of a chunk, in steps: values may be slow to read. Returns them, and the number of rows written. */
export function* featurize(
  parts: readonly ChunkPart[],
  by: FeaturizeDeps,
): Steps<{ readonly featurized: readonly (FeaturizedPart | Refused)[]; readonly rowCount: number }> {
  const records = parts.reduce((count, part) => count + part.rows.length, 0);
  const fillIn = new FillIn(by.model.knownFields, records);
  const featurized: (FeaturizedPart | Refused)[] = [];
  let rowCount = 0;
  for (const part of parts) {
    const done = yield* featurizeOrRefuse(part, { ...by, fillIn, firstRow: rowCount });
    featurized.push(done);
    if ('part' in done) rowCount += done.part.rows.length;
  }
  return { featurized, rowCount };
}

function* featurizeOrRefuse(part: ChunkPart, by: FeaturizeOneDeps): Steps<FeaturizedPart | Refused> {
  try {
    return yield* part.tolerant === true ? featurizeTolerantly(part, by) : featurizePart(part, by);
  } catch (error) {
    if (error instanceof TooLongFields) return { refused: { isTooLong: true } };
    throw error;
  }
}

/** Fills in the records of a part and writes their feature rows; or refuses the part, with the problems found. */
function* featurizePart(part: ChunkPart, by: FeaturizeOneDeps): Steps<FeaturizedPart | Refused> {
  const { featureRow, manifest } = by.model;
  const problems = new Problems(part.firstRow);
  const slotReadings = slotReadingsOf(part, by);
  const filled = yield* fillPart(part, { ...by, slotReadings }, problems);
  // Reading long fields takes time: skip it for a part that is refused already.
  if (problems.count > 0) return { refused: problems.reply };
  const features = part.explain ? manifest.features.length : 0;
  const readings = new Uint8Array(part.rows.length * features);
  for (const [index, cells] of part.rows.entries()) {
    const offset = (by.firstRow + index) * featureRow.width;
    const ownReadings = features === 0 ? undefined : readings.subarray(index * features, (index + 1) * features);
    const request = {
      cells,
      nowMs: part.now,
      out: by.rows,
      offset,
      readings: ownReadings,
      slotReadings,
      slotRow: index,
    };
    for (const problem of (yield* featureRow.steps(request)) ?? []) problems.add(index, problem);
    if (index % quickRecords === 0) yield;
  }
  if (problems.count > 0) return { refused: problems.reply };
  const warnings = yield* recencyWarnings(part, by.model);
  return { part, firstRow: by.firstRow, filled, warnings, readings, slotReadings };
}

/** Compares the dates of a part's records, with stored fields filled in, with the model's training. */
function* recencyWarnings({ rows, now }: ChunkPart, model: LoadedModel): Steps<[row: number, warning: string][]> {
  const warnings: [number, string][] = [];
  for (const [index, cells] of rows.entries()) {
    const warning = model.recencyGuard(cells, now);
    if (warning !== undefined) warnings.push([index, warning]);
    if (index % quickRecords === 0) yield;
  }
  return warnings;
}

const slotReadingsOf = (part: ChunkPart, { model }: FeaturizeDeps): SlotReadings =>
  new SlotReadings(part.rows.length, model.knownFields.scoredSlotCount);

/** Fills in the records of a part, in place. Returns the cells of those that changed, as JSON. */
function* fillPart(part: ChunkPart, by: FillDeps, problems: Problems): Steps<[row: number, fields: string][]> {
  const filled: [number, string][] = [];
  for (const index of part.rows.keys()) {
    const fill = fillRecord(part, { index, row: index }, by);
    if (fill !== undefined || index % quickRecords === 0) yield;
    if (fill === undefined) continue;
    if (fill.text !== undefined) filled.push([index, fill.text]);
    if (fill.problem !== undefined) problems.add(index, fill.problem);
  }
  return filled;
}

/**
 * Fills in a record, in place; undefined when its lead has no stored fields, or when the record lacks none.
 * @param at.row index of the record in `slotReadings`
 */
function fillRecord(
  part: ChunkPart,
  { index, row }: { readonly index: number; readonly row: number },
  { model, leads, fillIn, slotReadings }: FillDeps,
): FilledRecord | undefined {
  const cells = part.rows[index] as Cell[];
  const stored = leadOf(part, index, leads)?.stored;
  // Most records lack no field: skip parsing the stored fields of those.
  if (stored === undefined || gapsOf(cells, model.knownFields.slotCount) === 0) return undefined;
  const sent = cells.slice();
  const filled = fillIn.fill(cells, stored);
  // Most stored records lack the same fields.
  if (filled.text === undefined) return filled;
  for (const [slot, cell] of sent.entries())
    if (isAbsent(cell) && !isAbsent(cells[slot])) slotReadings.setFilled(row, slot);
  return filled;
}

/** As `featurizePart`, but refuses records one by one: the next record takes the feature row of a refused one. */
function* featurizeTolerantly(part: ChunkPart, by: FeaturizeOneDeps): Steps<FeaturizedPart> {
  const { featureRow, manifest } = by.model;
  const features = part.explain ? manifest.features.length : 0;
  const allReadings = new Uint8Array(part.rows.length * features);
  const slotReadings = slotReadingsOf(part, by);
  const filled: [number, string][] = [];
  const accepted: number[] = [];
  const refused: RecordProblem[] = [];
  for (const [index, cells] of part.rows.entries()) {
    const row = accepted.length;
    const fill = fillRecord(part, { index, row }, { ...by, slotReadings });
    if (fill !== undefined || index % quickRecords === 0) yield;
    let problem = fill?.problem;
    if (problem === undefined) {
      const readings = features === 0 ? undefined : allReadings.subarray(row * features, (row + 1) * features);
      const offset = (by.firstRow + row) * featureRow.width;
      const request = { cells, nowMs: part.now, out: by.rows, offset, readings, slotReadings, slotRow: row };
      problem = (yield* featureRow.steps(request))?.[0];
    }
    if (problem !== undefined) {
      slotReadings.clear(row);
      refused.push({ record: part.firstRow + index, ...problem });
      continue;
    }
    if (fill?.text !== undefined) filled.push([accepted.length, fill.text]);
    accepted.push(index);
  }
  const readings = allReadings.subarray(0, accepted.length * features);
  const ofCall = accepted.map((index) => part.firstRow + index);
  const kept = keptRecords(part, accepted);
  const warnings = yield* recencyWarnings(kept, by.model);
  const tolerated = { accepted: ofCall, refused };
  return { part: kept, firstRow: by.firstRow, filled, warnings, readings, slotReadings, tolerated };
}

/** The part with these records alone. */
function keptRecords(part: ChunkPart, indexes: readonly number[]): ChunkPart {
  const { rows, crmIds } = part;
  if (indexes.length === rows.length) return part;
  return {
    ...part,
    rows: indexes.map((index) => rows[index] ?? []),
    crmIds: indexes.map((index) => crmIds[index] ?? null),
  };
}

/** The numbers of a chunk of which a part has some: `width` for each row in `rows`, and one in `raw`. */
export interface ChunkNumbers {
  readonly rows: Float32Array;
  readonly width: number;
  readonly raw: Float64Array;
}

/**
 * Refuses the records of a tolerant part for which the model returned no probability. Their successors take their
 * indexes among the numbers.
 * @param problemOf the problem of a record, by its index in the call
 */
export function withoutFailedRows(
  featurized: FeaturizedPart & { readonly tolerated: Tolerated },
  { rows, width, raw }: ChunkNumbers,
  problemOf: (record: number) => RecordProblem,
): FeaturizedPart {
  const { part, firstRow, filled, warnings, readings, slotReadings, tolerated } = featurized;
  const own = raw.subarray(firstRow, firstRow + part.rows.length);
  if (!own.some(Number.isNaN)) return featurized;
  const features = readings.length / part.rows.length;
  const kept: number[] = [];
  const refused = [...tolerated.refused];
  for (const [row, probability] of own.entries()) {
    if (Number.isNaN(probability)) {
      refused.push(problemOf(tolerated.accepted[row] ?? 0));
      continue;
    }
    const to = kept.push(row) - 1;
    own[to] = probability;
    rows.copyWithin((firstRow + to) * width, (firstRow + row) * width, (firstRow + row + 1) * width);
    readings.copyWithin(to * features, row * features, (row + 1) * features);
    slotReadings.move(row, to);
  }
  const newRowOf = new Map(kept.map((row, to) => [row, to]));
  return {
    part: keptRecords(part, kept),
    firstRow,
    filled: filled.flatMap(([row, text]) => {
      const to = newRowOf.get(row);
      return to === undefined ? [] : [[to, text] as const];
    }),
    warnings: warnings.flatMap(([row, warning]) => {
      const to = newRowOf.get(row);
      return to === undefined ? [] : [[to, warning] as const];
    }),
    readings: readings.subarray(0, kept.length * features),
    slotReadings,
    tolerated: {
      accepted: kept.map((row) => tolerated.accepted[row] ?? 0),
      refused: refused.sort((one, other) => one.record - other.record),
    },
  };
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
