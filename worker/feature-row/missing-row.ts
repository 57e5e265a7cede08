import type { Feature, Manifest } from '../../shared/bundle/manifest.js';

/**
 * The input row of a record of which every value is missing: imputed values, NaN where there are none, and the
 * `missing_column`s set. Features write over it what they can read.
 */
export function missingRow({ width, features }: Pick<Manifest, 'width' | 'features'>): Float32Array {
  const row = new Float32Array(width);
  for (const feature of features) {
    for (const column of feature.columns) row[column] = missingValue(feature);
    if (feature.type !== 'multi' && feature.missing_column !== undefined) row[feature.missing_column] = 1;
  }
  return row;
}

function missingValue(feature: Feature): number {
  if (feature.type === 'multi') return 0;
  if (feature.type === 'category' && feature.encoding === 'onehot') return 0;
  return feature.impute ?? Number.NaN;
}
