import type { Schema } from '../../shared/contract/schema.js';
import type { OpenApiDocument } from './openapi-types.js';

const licenseUrl = 'https://www.apache.org/licenses/LICENSE-2.0';

/**
 * Converts a document from OpenAPI 3.1 to 3.0, for tools that cannot read 3.1 (Salesforce among them).
 * @throws Error on a schema keyword without a known equivalent in 3.0
 */
export function toOpenApi30(document: OpenApiDocument): OpenApiDocument {
  const {
    openapi: _version,
    info: { summary: _summary, license, ...info },
    components: { schemas, ...components },
    ...others
  } = document;
  return {
    openapi: '3.0.3',
    info: { ...info, license: { name: license.name, url: licenseUrl } },
    ...(withSchemas30(others) as typeof others),
    components: { schemas: mapValues(schemas, toSchema30), ...(withSchemas30(components) as typeof components) },
  };
}

/** Converts the schema of each parameter, header and body in a part of the document. Examples stay as they are. */
function withSchemas30(part: unknown, name = ''): unknown {
  if (name === 'schema') return toSchema30(part as Schema);
  if (typeof part !== 'object' || part === null || name.startsWith('example')) return part;
  return Array.isArray(part) ? part.map((item) => withSchemas30(item)) : mapValues(part as Schema, withSchemas30);
}

const mapValues = <Value, Changed>(
  entries: Readonly<Record<string, Value>>,
  change: (value: Value, name: string) => Changed,
): Readonly<Record<string, Changed>> =>
  Object.fromEntries(Object.entries(entries).map(([name, value]) => [name, change(value, name)]));

/** Keywords with the same meaning in both versions, and without nested schemas. */
const sameKeywords: ReadonlySet<string> = new Set([
  ...['$ref', 'title', 'description', 'default', 'deprecated', 'enum', 'format', 'pattern', 'required'],
  ...['maxItems', 'maxLength', 'maximum', 'maxProperties', 'uniqueItems'],
  ...['minItems', 'minLength', 'minimum', 'minProperties'],
]);

/** Keywords without an equivalent in 3.0. Omitting them only makes a schema less strict. */
const omittedKeywords: ReadonlySet<string> = new Set(['contentMediaType', 'contentSchema', 'propertyNames']);

/**
 * Converts a schema from OpenAPI 3.1 (JSON Schema 2020-12) to the dialect of 3.0.
 * @throws Error on a keyword without a known equivalent, because dropping it could change the meaning
 */
export function toSchema30(schema: Schema): Schema {
  const { type, const: constant, examples, exclusiveMinimum, exclusiveMaximum, ...others } = schema;
  const schema30: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(others)) {
    if (!omittedKeywords.has(keyword)) schema30[keyword] = toKeyword30(keyword, value);
  }
  if (constant !== undefined) schema30.enum = [constant];
  if (Array.isArray(examples) && examples.length > 0) schema30.example = examples[0];
  if (exclusiveMinimum !== undefined) Object.assign(schema30, { minimum: exclusiveMinimum, exclusiveMinimum: true });
  if (exclusiveMaximum !== undefined) Object.assign(schema30, { maximum: exclusiveMaximum, exclusiveMaximum: true });
  return withType30(schema30, type);
}

function toKeyword30(keyword: string, value: unknown): unknown {
  if (sameKeywords.has(keyword)) return value;
  if (keyword === 'properties') return mapValues(value as Record<string, Schema>, toSchema30);
  if (keyword === 'anyOf' || keyword === 'oneOf' || keyword === 'allOf') return (value as Schema[]).map(toSchema30);
  if (keyword === 'items' || keyword === 'not') return toSchema30(value as Schema);
  if (keyword === 'additionalProperties') return typeof value === 'boolean' ? value : toSchema30(value as Schema);
  throw new Error(`the keyword "${keyword}" has no known form in OpenAPI 3.0`);
}

/** A schema in 3.0 has one type: null becomes `nullable`, and several types become `anyOf`. */
function withType30(schema30: Record<string, unknown>, type: unknown): Schema {
  if (type === undefined) return schema30;
  const types = [type].flat().filter((name) => name !== 'null');
  const nullable = types.length < [type].flat().length ? { nullable: true } : {};
  const [first, ...more] = types;
  if (more.length === 0) return { type: first, ...nullable, ...schema30 };
  const { items = {}, ...rest } = schema30;
  return {
    ...rest,
    anyOf: types.map((name) => ({ type: name, ...nullable, ...(name === 'array' ? { items } : {}) })),
  };
}
