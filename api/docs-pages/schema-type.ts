import type { Schema } from '../openapi/openapi-types.js';
import { pointerOf } from '../openapi/resolve.js';
import { type Html, html } from './html.js';

/** What a schema takes, in a few words; named schemas are links. */
export function schemaType(schema: Schema): Html {
  const pointer = pointerOf(schema);
  if (pointer !== undefined) {
    const name = pointer.slice(pointer.lastIndexOf('/') + 1);
    return html`<a href="#${name}">${name}</a>`;
  }
  const { type, enum: values, const: constant, items, anyOf } = schema;
  if (constant !== undefined) return html`<code>${JSON.stringify(constant)}</code>`;
  if (Array.isArray(values))
    return joined(values.map((value) => html`<code>${JSON.stringify(value)}</code>`));
  if (Array.isArray(anyOf)) return joined((anyOf as Schema[]).map(schemaType));
  if (type === 'array') return html`array of ${schemaType((items ?? {}) as Schema)}`;
  if (type === undefined) return html`anything`;
  return joined([type].flat().map((name) => html`${String(name)}`));
}

/** The limits that a schema sets, each in a few words. */
export function schemaLimits(schema: Schema): string[] {
  const { minimum, maximum, exclusiveMinimum, minLength, maxLength, minItems, maxItems, format } = schema;
  const limits: string[] = [];
  if (minimum !== undefined || maximum !== undefined) limits.push(between(minimum, maximum, ''));
  if (exclusiveMinimum !== undefined) limits.push(`more than ${String(exclusiveMinimum)}`);
  if (minLength !== undefined || maxLength !== undefined)
    limits.push(between(minLength, maxLength, ' characters'));
  if (minItems !== undefined || maxItems !== undefined) limits.push(between(minItems, maxItems, ' items'));
  if (typeof format === 'string' && wordsOfFormats[format] !== undefined) limits.push(wordsOfFormats[format]);
  if (schema.default !== undefined) limits.push(`default ${JSON.stringify(schema.default)}`);
  return limits;
}

const wordsOfFormats: Readonly<Record<string, string>> = {
  'date-time': 'ISO 8601',
  uri: 'an address',
  'well-formed-text': 'well-formed Unicode without NUL',
};

function between(least: unknown, most: unknown, unit: string): string {
  if (least === undefined) return `at most ${String(most)}${unit}`;
  if (most === undefined) return `at least ${String(least)}${unit}`;
  if (least === most) return `exactly ${String(least)}${unit}`;
  return `${String(least)} to ${String(most)}${unit}`;
}

const joined = (parts: readonly Html[]): Html =>
  html`${parts.map((part, index) => (index === 0 ? part : html`<span class="or"> or </span>${part}`))}`;
