import { parseGolden } from '../../shared/bundle/golden.js';
import type { Manifest } from '../../shared/bundle/manifest/manifest.js';
import type { KnownFields } from '../../shared/messages/field-slots.js';
import type { FeatureRow } from '../feature-row/feature-row.js';
import type { InputRows } from './contributions.js';
import type { Sum } from './graph/sum.js';
import { equalCode, leafCode, type TreeEnsemble, unequalCode } from './trees/tree-ensemble.js';

/** Rows that verify an explanation. */
const checkedRows = 32;
/** Golden lines to read for them: some are blank or cannot be featurized. */
const readLines = 4 * checkedRows;

/** The parts of a loaded model that convert records to rows. */
export interface Featurizer {
  readonly manifest: Manifest;
  readonly knownFields: KnownFields;
  readonly featureRow: FeatureRow;
}

/**
 * Featurizes up to 32 golden records of a bundle.
 * @returns undefined if no golden record can be featurized
 */
export function goldenRows(
  { manifest, knownFields, featureRow }: Featurizer,
  golden: Buffer | undefined,
): InputRows | undefined {
  if (golden === undefined) return undefined;
  const rows = new Float32Array(checkedRows * manifest.width);
  let count = 0;
  for (const { record, now = manifest.trained_at } of parseGolden(firstLines(golden))) {
    if (count === checkedRows) break;
    const problems = featureRow.write({
      cells: knownFields.pack(record),
      nowMs: typeof now === 'number' ? now : Date.parse(now),
      out: rows,
      offset: count * manifest.width,
    });
    if (problems === undefined) count += 1;
  }
  return count === 0 ? undefined : { rows: rows.subarray(0, count * manifest.width), count };
}

/** The first `readLines` lines: a golden file can be large. */
function firstLines(golden: Buffer): Buffer {
  let end = 0;
  for (let line = 0; line < readLines; line += 1) {
    const newline = golden.indexOf('\n', end);
    if (newline === -1) return golden;
    end = newline + 1;
  }
  return golden.subarray(0, end);
}

/**
 * Draws rows around the thresholds of the trees, including NaN, or around the means of a linear model. The rows are
 * deterministic.
 */
export function drawnRows(
  sum: Sum,
  { width, means }: { readonly width: number; readonly means: ArrayLike<number> | undefined },
): InputRows {
  const draw = drawing(0x5eed);
  const values = Array.from({ length: width }, (_, column) =>
    means === undefined ? [Number.NaN] : [means[column] ?? 0, 0, 1],
  );
  for (const ensemble of new Set(sum.trees.map((share) => share.ensemble)))
    for (const [column, value] of thresholdsOf(ensemble)) values[column]?.push(value);
  const rows = new Float32Array(checkedRows * width);
  for (let at = 0; at < rows.length; at += 1) {
    const pool = values[at % width] ?? [];
    rows[at] = pool[Math.floor(draw() * pool.length)] ?? 0;
  }
  return { rows, count: checkedRows };
}

/** Yields each threshold and a value on either side, converted to the scale of the model's input column. */
function* thresholdsOf(ensemble: TreeEnsemble): Generator<[column: number, value: number]> {
  const { inputs, decision, input, threshold, nodeCount, members } = ensemble;
  for (let node = 0; node < nodeCount; node += 1) {
    const how = decision[node];
    const read = inputs[input[node] ?? 0];
    if (how === leafCode || read === undefined) continue;
    const limits = members.get(node) ?? [threshold[node] ?? 0];
    for (const limit of limits) {
      const step = how === equalCode || how === unequalCode ? 1 : 1e-3 * Math.max(1, Math.abs(limit));
      for (const value of [limit - step, limit, limit + step]) yield [read.column, (value - read.offset) / read.weight];
    }
  }
}

/** Deterministic numbers in [0, 1): the mulberry32 generator. */
export function drawing(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
