import type { Schema } from './openapi-types.js';

/** Keywords that mean the same in both versions, and hold no schemas. */
const samePlainKeywords: ReadonlySet<string> = new Set([
  '$ref',
  'title',
  'description',
  'default',
  'deprecated',
  'enum',
  'format',
  'maxItems',
  'maxLength',
  'maximum',
  'maxProperties',
  'minItems',
  'minLength',
  'minimum',
  'minProperties',
  'pattern',
  'required',
  'uniqueItems',
]);

/** Keywords of 3.1 that 3.0 cannot say and a reader can do without. */
const leftOut: ReadonlySet<string> = new Set(['contentMediaType', 'contentSchema', 'propertyNames']);

/**
 * A schema of OpenAPI 3.1 (JSON Schema 2020-12) in the dialect of 3.0.
 * @throws Error on a keyword that it has not been told how to say, rather than say something else
 */
export function olderSchema(schema: Schema): Schema {
  const { type, const: constant, examples, exclusiveMinimum, exclusiveMaximum, ...others } = schema;
  const older: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(others)) {
    if (!leftOut.has(keyword)) older[keyword] = olderKeyword(keyword, value);
  }
  if (constant !== undefined) older.enum = [constant];
  if (Array.isArray(examples) && examples.length > 0) older.example = examples[0];
  if (exclusiveMinimum !== undefined)
    Object.assign(older, { minimum: exclusiveMinimum, exclusiveMinimum: true });
  if (exclusiveMaximum !== undefined)
    Object.assign(older, { maximum: exclusiveMaximum, exclusiveMaximum: true });
  return withType(older, type);
}

function olderKeyword(keyword: string, value: unknown): unknown {
  if (samePlainKeywords.has(keyword)) return value;
  if (keyword === 'properties') {
    const entries = Object.entries(value as Record<string, Schema>);
    return Object.fromEntries(entries.map(([name, schema]) => [name, olderSchema(schema)]));
  }
  if (keyword === 'anyOf' || keyword === 'oneOf' || keyword === 'allOf')
    return (value as Schema[]).map(olderSchema);
  if (keyword === 'items' || keyword === 'not') return olderSchema(value as Schema);
  if (keyword === 'additionalProperties')
    return typeof value === 'boolean' ? value : olderSchema(value as Schema);
  throw new Error(`the keyword "${keyword}" has no known form in OpenAPI 3.0`);
}

/** 3.0 knows one type a schema: null becomes `nullable`, several become alternatives. */
function withType(older: Record<string, unknown>, type: unknown): Schema {
  if (type === undefined) return older;
  const types = [type].flat().filter((name) => name !== 'null');
  const nullable = types.length < [type].flat().length ? { nullable: true } : {};
  const [first, ...more] = types;
  if (more.length === 0) return { type: first, ...nullable, ...older };
  const { items = {}, ...rest } = older;
  return {
    ...rest,
    anyOf: types.map((name) => ({ type: name, ...nullable, ...(name === 'array' ? { items } : {}) })),
  };
}
