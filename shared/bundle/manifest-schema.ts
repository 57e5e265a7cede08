import { PLAIN_FILE_NAME } from './bundle-files.js';
import { FLOAT32_MAX } from './bundle-limits.js';

/*
 * The JSON Schema of `manifest.json`, version 1: shapes and types. What one member says about another (columns,
 * lengths, order) is checked in code, see `check-manifest.ts`.
 *
 * Keys that the schema does not know are accepted where nothing can go wrong by passing over them (a later, additive
 * version of the format may bring them) and refused in a feature and in `recency`, where every optional key
 * changes scores or warnings: a misspelt `missing_colum` must not score quietly wrong.
 * A pattern's `description` ends the sentence "must be ...".
 */

const number = { type: 'number' };
/** What is written into an input column as it is. */
const input = { type: 'number', minimum: -FLOAT32_MAX, maximum: FLOAT32_MAX };
const column = { type: 'integer', minimum: 0 };
const probability = { type: 'number', minimum: 0, maximum: 1 };
const fileName = { type: 'string', pattern: PLAIN_FILE_NAME, description: 'a plain file name' };

/** Text that is shown to people and kept in logs. Lengths count code points. */
function text(maxLength: number): object {
  return {
    type: 'string',
    maxLength,
    pattern: '^(?=.*\\S)[^\\p{Cc}\\p{Cs}]*$',
    description: 'text without control characters, and not blank',
  };
}

/** A version is typed on command lines: a space at its end would be lost. */
const version = {
  type: 'string',
  maxLength: 64,
  pattern: '^(?!\\s)[^\\p{Cc}\\p{Cs}]+(?<!\\s)$',
  description: 'text without control characters and without spaces at either end',
};

const texts = { type: 'array', items: { type: 'string', maxLength: 1000 } };
const columns = { type: 'array', minItems: 1, items: column };
const categories = { ...texts, minItems: 1 };
const namesSent = { type: 'array', items: { type: 'string', minLength: 1, maxLength: 255 } };

function feature(
  type: string,
  { required = [], properties }: { required?: string[]; properties: object },
): object {
  return {
    type: 'object',
    required: ['field', 'label', 'type', 'columns', ...required],
    additionalProperties: false,
    properties: {
      field: text(255),
      label: text(255),
      aliases: namesSent,
      required: { type: 'boolean' },
      type: { const: type },
      columns,
      ...properties,
    },
  };
}

const single = { ...columns, maxItems: 1 };
const filledIn = { impute: input, missing_column: column };

const features = [
  feature('number', {
    properties: { columns: single, ...filledIn, unit: { type: 'string', maxLength: 64 } },
  }),
  feature('boolean', { properties: { columns: single, ...filledIn } }),
  feature('category', {
    required: ['encoding', 'categories'],
    properties: {
      encoding: { enum: ['onehot', 'ordinal'] },
      categories,
      category_aliases: { type: 'object', additionalProperties: { type: 'string' } },
      other_column: column,
      other_value: input,
      ...filledIn,
    },
  }),
  feature('multi', {
    required: ['categories'],
    properties: { categories, separator: { type: 'string', minLength: 1, maxLength: 16 } },
  }),
  feature('date', { properties: { columns: single, ...filledIn, date_order: { enum: ['dmy', 'mdy'] } } }),
];

function oneOfKinds(kinds: Record<string, { required: string[]; properties: object }>): object {
  const branches = Object.entries(kinds).map(([kind, { required, properties }]) => ({
    type: 'object',
    required: ['kind', ...required],
    properties: { kind: { const: kind }, ...properties },
  }));
  return { type: 'object', required: ['kind'], discriminator: { propertyName: 'kind' }, oneOf: branches };
}

const numbers = { type: 'array', items: number };

/** Version 1 of the manifest as a JSON Schema (draft 7, with the `discriminator` keyword of OpenAPI). */
export const MANIFEST_SCHEMA = {
  type: 'object',
  required: [
    'schema_version',
    'name',
    'version',
    'family',
    'trained_at',
    'onnx',
    'width',
    'features',
    'calibration',
    'quantiles',
  ],
  properties: {
    schema_version: { const: 1 },
    name: text(200),
    version,
    family: { enum: ['forward', 'timing'] },
    trained_at: { type: 'string' },
    onnx: {
      type: 'object',
      required: ['file', 'sha256', 'input', 'output', 'kind', 'positive_class'],
      properties: {
        file: fileName,
        sha256: { type: 'string', pattern: '^[0-9a-fA-F]{64}$', description: '64 hexadecimal digits' },
        input: { type: 'string', minLength: 1, maxLength: 255 },
        output: { type: 'string', minLength: 1, maxLength: 255 },
        kind: { enum: ['probability', 'logit'] },
        positive_class: column,
      },
    },
    width: { type: 'integer', minimum: 1, maximum: 10_000 },
    features: {
      type: 'array',
      minItems: 1,
      items: { type: 'object', required: ['type'], discriminator: { propertyName: 'type' }, oneOf: features },
    },
    calibration: oneOfKinds({
      identity: { required: [], properties: {} },
      platt: { required: ['a', 'b'], properties: { a: number, b: number } },
      isotonic: {
        required: ['x', 'y'],
        properties: { x: { ...numbers, minItems: 2 }, y: { type: 'array', minItems: 2, items: probability } },
      },
    }),
    quantiles: { type: 'array', minItems: 101, maxItems: 101, items: probability },
    missing_tokens: texts,
    recency: {
      type: 'object',
      required: ['field', 'max_age_days'],
      additionalProperties: false,
      properties: {
        field: text(255),
        max_age_days: { type: 'number', exclusiveMinimum: 0 },
        future_tolerance_days: { type: 'number', minimum: 0 },
      },
    },
    explain: oneOfKinds({
      tree: { required: ['covers'], properties: { covers: fileName } },
      linear: { required: ['means'], properties: { means: numbers } },
      baseline: { required: ['values'], properties: { values: numbers } },
    }),
    validation: {
      type: 'object',
      properties: {
        // A century: no lead is waited for as long, and every date that is worked out from it can be one.
        horizon_days: { type: 'integer', minimum: 1, maximum: 36_500 },
        base_rate: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
        holdout_top_lift: { type: 'number', exclusiveMinimum: 0 },
      },
    },
  },
};
