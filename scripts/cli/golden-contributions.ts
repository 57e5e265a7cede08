import type { GoldenRecord } from '../../shared/bundle/golden.js';
import type { LoadedModel } from '../../worker/loaded-model.js';

/** How far a field's contribution may be from what the author wrote. */
export const contributionTolerance = 1e-4;

/**
 * How far the contributions of each record are from those that its author expects.
 * @param rows the records' input rows
 * @returns the largest difference of each record; undefined for those that say no contributions
 */
export async function contributionDifferences(
  model: LoadedModel,
  records: readonly GoldenRecord[],
  rows: Float32Array,
): Promise<readonly (number | undefined)[]> {
  if (records.every(({ contributions }) => contributions === undefined)) return [];
  const { explainer, fields } = await model.explanation();
  const found = await explainer.contributions({ rows, count: records.length });
  const count = fields.fields.length;
  const placeOf = new Map(fields.fields.map(({ field }, place) => [field, place]));
  return records.map(({ contributions }, record) => {
    if (contributions === undefined) return undefined;
    let largest = 0;
    for (const [field, expected] of Object.entries(contributions)) {
      const place = placeOf.get(field);
      const contribution = place === undefined ? 0 : (found[record * count + place] ?? 0);
      largest = Math.max(largest, Math.abs(contribution - expected)); // NaN stays
    }
    return largest;
  });
}
