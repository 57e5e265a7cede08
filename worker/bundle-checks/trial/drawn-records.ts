import { trialLimits } from '../../../shared/bundle/limits.js';
import type { Feature, Manifest } from '../../../shared/bundle/manifest/manifest.js';
import type { OnnxGraph } from '../../../shared/bundle/onnx/onnx-model.js';
import { drawing } from '../../drivers/check-rows.js';
import type { InputRows } from '../../drivers/contributions.js';
import { Attributes } from '../../drivers/graph/tensor-values.js';
import { missingRow } from '../../feature-row/cell-reading.js';

/** One feature in so many is missing in a drawn row. */
const missingShare = 1 / 8;
/** Numbers of drawn rows grow from row to row by a factor of ten, up to this many times. */
const decades = 7;
/** Values to keep for a column, and nodes of trees to visit for them. */
const maxNamed = 64;
const maxNodes = 50_000;
const maxAgeDays = 1_500;

type Draw = () => number;

/**
 * Draws the input rows of records that a model could get. They hold numbers of any size, numbers that the bundle names,
 * categories, ages of dates, and missing values. The rows are always the same for one bundle.
 *
 * The first row has no value at all, unless a feature is required.
 */
export function drawnRecords({
  manifest,
  graph,
}: {
  readonly manifest: Manifest;
  readonly graph: OnnxGraph;
}): InputRows {
  const { width, features } = manifest;
  const draw = drawing(0x1ead);
  const named = namedValues(manifest, graph);
  const empty = missingRow(manifest);
  const count = trialLimits.drawnRows;
  const rows = new Float32Array(count * width);
  for (let index = 0; index < count; index += 1) {
    const row = rows.subarray(index * width, (index + 1) * width);
    row.set(empty);
    const magnitude = 10 ** (index % decades);
    const isEmpty = index === 0;
    for (const feature of features) {
      const isMissing = isEmpty || draw() < missingShare;
      if (!isMissing || feature.required === true) write(feature, row, { draw, magnitude, named });
    }
  }
  return { rows, count };
}

interface Drawing {
  readonly draw: Draw;
  readonly magnitude: number;
  /** Values by column. */
  readonly named: ReadonlyMap<number, readonly number[]>;
}

/** Writes a value of one feature, as the readers of features do. */
function write(feature: Feature, row: Float32Array, drawing: Drawing): void {
  const { draw } = drawing;
  const [column = 0] = feature.columns;
  if (feature.type !== 'multi' && feature.missing_column !== undefined) row[feature.missing_column] = 0;
  switch (feature.type) {
    case 'number':
      row[column] = number(drawing, column);
      break;
    case 'date':
      row[column] = draw() < 1 / 2 ? number(drawing, column) : Math.floor(draw() * maxAgeDays);
      break;
    case 'boolean':
      row[column] = Math.round(draw());
      break;
    case 'multi':
      for (const each of feature.columns) row[each] = Math.round(draw());
      break;
    case 'category': {
      // One index more than there are categories: a value that the model has not seen.
      const index = Math.floor(draw() * (feature.categories.length + 1));
      const isUnseen = index === feature.categories.length;
      if (feature.encoding === 'ordinal') row[column] = isUnseen ? (feature.other_value ?? Number.NaN) : index;
      else if (!isUnseen) row[feature.columns[index] ?? column] = 1;
      else if (feature.other_column !== undefined) row[feature.other_column] = 1;
    }
  }
}

/** A value that the bundle names for the column, or any number of the row's magnitude. */
function number({ draw, magnitude, named }: Drawing, column: number): number {
  const values = named.get(column) ?? [];
  if (values.length > 0 && draw() < 1 / 2) return values[Math.floor(draw() * values.length)] ?? 0;
  const size = draw() * magnitude;
  const signed = draw() < 1 / 10 ? -size : size;
  return draw() < 1 / 2 ? Math.round(signed) : signed;
}

/** The values near which a model's answers change: means, the reference row, and thresholds of trees. */
function namedValues({ explain, width }: Manifest, { node }: OnnxGraph): ReadonlyMap<number, readonly number[]> {
  const values = new Map<number, number[]>();
  const add = (column: number, value: number): void => {
    const known = values.get(column) ?? [];
    if (column >= width || known.length >= maxNamed || !Number.isFinite(value)) return;
    known.push(value, value + 1e-3 * Math.max(1, Math.abs(value)));
    values.set(column, known);
  };
  const given = explain?.kind === 'linear' ? explain.means : explain?.kind === 'baseline' ? explain.values : [];
  for (const [column, value] of given.entries()) add(column, value);
  for (const operator of node) {
    const attributes = new Attributes(operator);
    const columns = attributes.integers('nodes_featureids');
    const modes = attributes.texts('nodes_modes');
    const thresholds = attributes.numbers('nodes_splits') ?? attributes.numbers('nodes_values') ?? [];
    const step = Math.max(1, Math.ceil(columns.length / maxNodes));
    for (let at = 0; at < thresholds.length; at += step)
      if (modes[at] !== 'LEAF') add(columns[at] ?? 0, thresholds[at] ?? 0);
  }
  return values;
}
