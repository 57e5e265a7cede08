import { foldedText } from '../../contract/texts.js';
import { refuseIfAny } from '../bundle-error.js';
import { goldenFile, manifestFile, parseJson } from '../bundle-files.js';
import { trialLimits } from '../limits.js';
import type { Calibration, CategoryFeature, Feature, Manifest, MultiFeature } from './manifest.js';
import { manifestSchema, manifestShape } from './manifest-schema.js';
import { momentOf } from './moment.js';

/**
 * Checks `manifest.json`: UTF-8, JSON, shape and types, then what its members say about one another.
 * @returns the manifest, and the unknown keys of its top level, which are ignored
 * @throws BundleError with every problem of one stage: the second stage needs the right shape
 */
export function checkManifest(bytes: Buffer): { manifest: Manifest; unknownKeys: string[] } {
  const verdict = manifestShape(parseJson(bytes, manifestFile));
  if ('problems' in verdict) {
    refuseIfAny(manifestFile, verdict.problems);
    throw new TypeError('manifestShape refused a manifest without naming a problem');
  }
  const { manifest } = verdict;
  refuseIfAny(manifestFile, [
    ...trainingProblems(manifest),
    ...fileProblems(manifest),
    ...columnProblems(manifest),
    ...categoryProblems(manifest.features),
    ...curveProblems(manifest),
    ...explainProblems(manifest),
    ...liftProblems(manifest.validation),
  ]);
  return { manifest, unknownKeys: unknownKeys(manifest) };
}

function trainingProblems({ trained_at: trainedAt, validation }: Manifest): string[] {
  const dataUntil = validation?.data_until;
  const trained = momentOf(trainedAt);
  const problems = trained === undefined ? [noMoment('trained_at', trainedAt)] : [];
  if (dataUntil === undefined) return problems;
  const until = momentOf(dataUntil);
  if (until === undefined) return [...problems, noMoment('validation.data_until', dataUntil)];
  if (trained === undefined || until.firstMs <= trained.lastMs) return problems;
  return [
    `validation.data_until is ${dataUntil}, after trained_at (${trainedAt}): give the last day whose leads the model was trained on`,
  ];
}

const noMoment = (path: string, text: string): string =>
  `${path} is "${text}", not a date of ISO 8601 such as 2026-01-31T09:30:00Z`;

function fileProblems({ onnx, explain }: Manifest): string[] {
  const taken = [manifestFile, goldenFile];
  const problems = taken.includes(onnx.file)
    ? [`onnx.file is "${onnx.file}", a reserved name: rename the ONNX file`]
    : [];
  if (explain?.kind === 'tree' && [...taken, onnx.file].includes(explain.covers)) {
    problems.push(`explain.covers is "${explain.covers}", the name of another member: rename the file`);
  }
  return problems;
}

function explainProblems({ explain, width }: Manifest): string[] {
  if (explain === undefined || explain.kind === 'tree') return [];
  const [key, values] =
    explain.kind === 'linear' ? (['means', explain.means] as const) : (['values', explain.values] as const);
  if (values.length === width) return [];
  return [`explain.${key} has ${values.length} entries for ${width} input columns`];
}

function unknownKeys(manifest: Manifest): string[] {
  const known = Object.keys(manifestSchema.properties);
  return Object.keys(manifest).filter((key) => !known.includes(key));
}

/**
 * Each input column must be filled by exactly one feature. An empty column is refused and not only warned about: the
 * model was trained with a value in it, and the format cannot say which.
 */
function columnProblems({ features, width }: Manifest): string[] {
  const problems: string[] = [];
  const filledBy = new Map<number, string>();
  for (const [index, feature] of features.entries()) {
    for (const [path, column] of columnsOf(feature, `features[${index}]`)) {
      const other = filledBy.get(column);
      if (column >= width) problems.push(`${path} is ${column}, outside 0..${width - 1}`);
      else if (other !== undefined) problems.push(`${path} is ${column}, which ${other} already fills`);
      else filledBy.set(column, path);
    }
  }
  const empty = Array.from({ length: width }, (_, column) => column).filter((column) => !filledBy.has(column));
  const named = empty.slice(0, 5).join(', ');
  const more = empty.length > 5 ? ` and ${empty.length - 5} more` : '';
  if (empty.length > 0) problems.push(`no feature fills input column ${named}${more}`);
  return problems;
}

function columnsOf(feature: Feature, path: string): (readonly [path: string, column: number])[] {
  const columns = feature.columns.map((column, index) => [`${path}.columns[${index}]`, column] as const);
  const beside = (key: 'other_column' | 'missing_column', column: number | undefined) =>
    column === undefined ? [] : [[`${path}.${key}`, column] as const];
  return [
    ...columns,
    ...beside('other_column', 'other_column' in feature ? feature.other_column : undefined),
    ...beside('missing_column', 'missing_column' in feature ? feature.missing_column : undefined),
  ];
}

/** Vocabularies must fit their columns, and no two categories may be equal or share an alias once folded. */
function categoryProblems(features: readonly Feature[]): string[] {
  return features.flatMap((feature, index) => {
    const path = `features[${index}]`;
    if (feature.type === 'multi') return [...lengthProblems(feature, path), ...duplicates(feature, path)];
    if (feature.type !== 'category') return [];
    return [
      ...lengthProblems(feature, path),
      ...duplicates(feature, path),
      ...encodingProblems(feature, path),
      ...aliasProblems(feature, path),
    ];
  });
}

function lengthProblems(feature: CategoryFeature | MultiFeature, path: string): string[] {
  const { categories, columns } = feature;
  if (feature.type === 'category' && feature.encoding === 'ordinal') {
    return columns.length === 1
      ? []
      : [`${path}.columns has ${columns.length} entries, but an ordinal feature fills one column`];
  }
  if (columns.length === categories.length) return [];
  return [`${path}.columns has ${columns.length} entries for ${categories.length} categories`];
}

function duplicates({ categories }: CategoryFeature | MultiFeature, path: string): string[] {
  const firstWithKey = new Map<string, string>();
  return categories.flatMap((category, index) => {
    const key = foldedText(category);
    const first = firstWithKey.get(key);
    firstWithKey.set(key, first ?? category);
    if (first === undefined) return [];
    return [
      `${path}.categories[${index}] "${category}" is the same category as "${first}" ` +
        '(case, width and repeated spaces are ignored)',
    ];
  });
}

/** Refuses keys of the other encoding: they would have no effect, and the author expects one. */
function encodingProblems(feature: CategoryFeature, path: string): string[] {
  const unused = feature.encoding === 'onehot' ? ['other_value', 'impute'] : ['other_column'];
  return unused
    .filter((key) => Object.hasOwn(feature, key))
    .map((key) => `${path} has the key "${key}", which the encoding "${feature.encoding}" does not use: remove it`);
}

function aliasProblems({ categories, category_aliases }: CategoryFeature, path: string): string[] {
  const meaning = new Map(categories.map((category) => [foldedText(category), category]));
  const byAlias = new Map<string, string>();
  return Object.entries(category_aliases ?? {}).flatMap(([seen, target]) => {
    const what = `${path}.category_aliases "${seen}"`;
    const category = meaning.get(foldedText(target));
    if (category === undefined) return [`${what} maps to "${target}", which is not one of the categories`];
    const known = meaning.get(foldedText(seen)) ?? byAlias.get(foldedText(seen)) ?? category;
    byAlias.set(foldedText(seen), known);
    return known === category ? [] : [`${what} maps to "${category}", but already means "${known}"`];
  });
}

/**
 * `quantiles` must not descend, nor all be equal; an isotonic `x` must ascend strictly, and its `y` must not descend. A
 * platt curve must rise.
 */
function curveProblems({ quantiles, calibration }: Manifest): string[] {
  return [...descents(quantiles, 'quantiles'), ...equalProblems(quantiles), ...calibrationProblems(calibration)];
}

/** With equal quantiles every lead has the score 0, 50 or 100. */
function equalProblems(quantiles: readonly number[]): string[] {
  const [first] = quantiles;
  if (quantiles.some((quantile) => quantile !== first)) return [];
  return [`quantiles are all ${first}: give the percentiles 0 to 100 of the model's raw probabilities`];
}

/** The rate of the best fifth cannot exceed 1. */
function liftProblems(validation: Manifest['validation']): string[] {
  const { base_rate: rate, holdout_top_lift: lift } = validation ?? {};
  if (rate === undefined || lift === undefined || rate * lift <= 1 + trialLimits.topRate) return [];
  return [
    `validation.holdout_top_lift is ${lift} at a base_rate of ${rate}, so ${Math.round(100 * rate * lift)} % of the best fifth would convert: take both from the same rows`,
  ];
}

function calibrationProblems(calibration: Calibration): string[] {
  if (calibration.kind === 'platt' && !(calibration.a > 0))
    return [
      `calibration.a is ${calibration.a}, so a higher raw probability would not give a higher likelihood: fit it on outcomes where 1 means converted, or check positive_class`,
    ];
  if (calibration.kind !== 'isotonic') return [];
  const { x, y } = calibration;
  const problems = [...descents(x, 'calibration.x', { strictly: true }), ...descents(y, 'calibration.y')];
  if (x.length !== y.length) {
    problems.push(`calibration.x has ${x.length} entries, but calibration.y has ${y.length}`);
  }
  return problems;
}

/** The first entry that is below the one before it or, if `strictly`, equal to it. */
function descents(values: readonly number[], name: string, { strictly = false } = {}): string[] {
  for (let index = 1; index < values.length; index += 1) {
    const before = values[index - 1] ?? Number.NaN;
    const value = values[index] ?? Number.NaN;
    if (value > before || (value === before && !strictly)) continue;
    const relation = value < before ? 'below' : 'equal to';
    const rule = strictly ? 'ascend strictly' : 'not descend';
    return [`${name}[${index}] is ${value}, ${relation} the entry before it: the list must ${rule}`];
  }
  return [];
}
