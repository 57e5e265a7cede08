import { expectedOfType } from '../../shared/bundle/expected-values.js';
import type { Feature } from '../../shared/bundle/manifest/manifest.js';
import type { Cell } from '../../shared/messages/cells.js';
import type { Steps } from '../pool/time-slices.js';
import { compileBooleanWriter } from './boolean-value.js';
import { compileCategoryWriter } from './category-value.js';
import { type FeatureWriter, type Reading, type RowTarget, wasMissing, wasRead, wasUnseen } from './cell-reading.js';
import { compileDateWriter } from './date-value.js';
import { compileMultiWriter } from './multi-value.js';
import { compileNumberWriter } from './number-value.js';

/** A compiled feature. */
export interface FeatureReader {
  readonly field: string;
  readonly slot: number;
  readonly required: boolean;
  /** Whether an array may hold several scalars. */
  readonly takesSeveral: boolean;
  /** Description of a valid value, for error messages. */
  readonly expected: string;
  readonly write: FeatureWriter;
}

/**
 * Compiles one feature.
 * @param options `slot`: index among the known fields; `missingTexts`: folded
 * @throws Error when a category alias names an unknown category
 */
export function compileFeatureReader(
  feature: Feature,
  { slot, missingTexts }: { readonly slot: number; readonly missingTexts: ReadonlySet<string> },
): FeatureReader {
  return {
    field: feature.field,
    slot,
    required: feature.required === true,
    takesSeveral: feature.type === 'multi',
    expected: expectedOfType[feature.type],
    write: compileWriter(feature, missingTexts),
  };
}

function compileWriter(feature: Feature, missingTexts: ReadonlySet<string>): FeatureWriter {
  switch (feature.type) {
    case 'number':
      return compileNumberWriter(feature, missingTexts);
    case 'boolean':
      return compileBooleanWriter(feature, missingTexts);
    case 'category':
      return compileCategoryWriter(feature, missingTexts);
    case 'multi':
      return compileMultiWriter(feature, missingTexts);
    case 'date':
      return compileDateWriter(feature, missingTexts);
  }
}

/**
 * Reads a cell that is not a scalar: null, an array, or the placeholder of an object. An array is read in steps.
 * @returns a reading, or a description of the value if it makes the record invalid
 */
export function* readStructure(
  reader: FeatureReader,
  cell: Extract<Cell, object>,
  target: RowTarget,
): Steps<Reading | string> {
  if (!Array.isArray(cell)) return 'overflow' in cell ? 'a number beyond 1.8e308' : 'an object';
  const values: readonly unknown[] = cell;
  if (values.some((value) => typeof value === 'object' && value !== null)) return 'a nested array';
  if (values.length > 1 && !reader.takesSeveral) return `an array of ${values.length} values`;
  let reading: Reading = wasMissing;
  for (const value of values) {
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') continue;
    const ofOne = reader.write(value, target);
    if (reading !== wasUnseen && (reading !== wasRead || ofOne === wasUnseen)) reading = ofOne;
    yield;
  }
  return reading;
}
