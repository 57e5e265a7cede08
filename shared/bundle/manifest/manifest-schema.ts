import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { plainFileName } from '../bundle-files.js';
import { maxFloat32 } from '../limits.js';
import type { Manifest } from './manifest.js';

/*
 * The JSON Schema of `manifest.json`, version 1: shapes and types. `check-manifest.ts` checks in code how members
 * relate to one another (columns, lengths, order).
 *
 * Unknown keys are accepted where ignoring them is harmless: a later, additive version of the format may bring them. In
 * a feature and in `recency` they are refused, because every optional key there changes scores or warnings. A misspelt
 * `missing_colum` must not give wrong scores silently.
 *
 * The `description` of a pattern completes the sentence "must be ...".
 */

const number = { type: 'number' };
/** A value that goes into an input column unchanged. */
const input = { type: 'number', minimum: -maxFloat32, maximum: maxFloat32 };
const column = { type: 'integer', minimum: 0 };
const probability = { type: 'number', minimum: 0, maximum: 1 };
const fileName = { type: 'string', pattern: plainFileName, description: 'a plain file name' };

/** Text that people read on screens and in logs. Lengths count code points. */
function text(maxLength: number): object {
  return {
    type: 'string',
    maxLength,
    pattern: '^(?=.*\\S)[^\\p{Cc}\\p{Cs}]*$',
    description: 'text without control characters and not blank',
  };
}

/** Versions are typed on command lines, where a space at either end would be lost. */
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

function feature(type: string, { required = [], properties }: { required?: string[]; properties: object }): object {
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

/** Draft 7, with the `discriminator` keyword of OpenAPI. */
export const manifestSchema = {
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
        // At most a century, so that every date computed from it exists.
        horizon_days: { type: 'integer', minimum: 1, maximum: 36_500 },
        base_rate: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
        holdout_top_lift: { type: 'number', exclusiveMinimum: 0 },
        data_until: { type: 'string' },
      },
    },
  },
};

export type ShapeVerdict =
  | { readonly manifest: Manifest }
  /** At least one, each with its path: `features[3].columns[0] must be integer`. */
  | { readonly problems: readonly string[] };

let compiled: ValidateFunction<Manifest> | undefined;

/** Compares a parsed `manifest.json` with the schema; returns it as a manifest, or every difference. */
export function manifestShape(value: unknown): ShapeVerdict {
  compiled ??= new Ajv({
    allErrors: true,
    discriminator: true,
    ownProperties: true,
    verbose: true,
    // Strict mode would warn about `required` beside `oneOf` without `properties`, which draft 7 allows.
    strictRequired: false,
  }).compile<Manifest>(manifestSchema);
  if (compiled(value)) return { manifest: value };
  return { problems: [...new Set((compiled.errors ?? []).map(problemText))] };
}

function problemText(error: ErrorObject): string {
  const path = pathText(error.instancePath);
  const params: Record<string, unknown> = error.params;
  switch (error.keyword) {
    case 'required':
      return `${path} lacks "${params.missingProperty}"`;
    case 'additionalProperties':
      return `${path} has the unknown key "${params.additionalProperty}": correct or remove it`;
    case 'const':
      return `${path} must be ${JSON.stringify(params.allowedValue)}, not ${valueText(error.data)}`;
    case 'enum':
      return `${path} must be one of ${JSON.stringify(params.allowedValues)}, not ${valueText(error.data)}`;
    case 'pattern':
      return `${path} must be ${error.parentSchema?.description}, but is ${valueText(error.data)}`;
    case 'discriminator':
      return `${path}.${params.tag} must be one of ${kindNames(error)}, not ${valueText(params.tagValue)}`;
    case 'minItems':
    case 'maxItems':
      return `${path} ${error.message}, but has ${Array.isArray(error.data) ? error.data.length : 0}`;
    default:
      return `${path} ${error.message}, not ${valueText(error.data)}`;
  }
}

/** The values that a discriminator accepts, as JSON. */
function kindNames({ params, parentSchema }: ErrorObject): string {
  const branches: { properties: Record<string, { const: string }> }[] = parentSchema?.oneOf ?? [];
  return JSON.stringify(branches.map(({ properties }) => properties[params.tag]?.const));
}

/** Converts the JSON pointer `/features/3/columns/0` to `features[3].columns[0]`. */
function pathText(pointer: string): string {
  if (pointer === '') return 'the manifest';
  const parts = pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  return parts
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`))
    .join('')
    .slice(1);
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  const rendered = JSON.stringify(value) ?? 'nothing';
  return rendered.length > 60 ? `${rendered.slice(0, 60)}...` : rendered;
}
