import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { Manifest } from './manifest.js';
import { MANIFEST_SCHEMA } from './manifest-schema.js';

/** What comparing a value with the manifest's schema gives. */
export type ShapeVerdict =
  | { readonly manifest: Manifest }
  /** At least one, each with the place: `features[3].columns[0] must be integer`. */
  | { readonly problems: readonly string[] };

let compiled: ValidateFunction<Manifest> | undefined;

/**
 * Compares a parsed `manifest.json` with the schema.
 * @param value any JSON value
 * @returns the same value as a manifest, or every difference; what its members say about each other is not checked
 */
export function manifestShape(value: unknown): ShapeVerdict {
  compiled ??= new Ajv({
    allErrors: true,
    discriminator: true,
    ownProperties: true,
    verbose: true,
    // Draft 7 has no `required` beside `oneOf` without properties; Ajv's strict mode warns about it.
    strictRequired: false,
  }).compile<Manifest>(MANIFEST_SCHEMA);
  if (compiled(value)) return { manifest: value };
  return { problems: [...new Set((compiled.errors ?? []).map(problemText))] };
}

function problemText(error: ErrorObject): string {
  const place = placeText(error.instancePath);
  const params: Record<string, unknown> = error.params;
  switch (error.keyword) {
    case 'required':
      return `${place} lacks "${params.missingProperty}"`;
    case 'additionalProperties':
      return `${place} has the unknown key "${params.additionalProperty}"`;
    case 'const':
      return `${place} must be ${JSON.stringify(params.allowedValue)}, not ${valueText(error.data)}`;
    case 'enum':
      return `${place} must be one of ${JSON.stringify(params.allowedValues)}, not ${valueText(error.data)}`;
    case 'pattern':
      return `${place} must be ${error.parentSchema?.description}, not ${valueText(error.data)}`;
    case 'discriminator':
      return `${place} has an unknown "${params.tag}": ${valueText(params.tagValue)}`;
    case 'minItems':
    case 'maxItems':
      return `${place} ${error.message}, not ${Array.isArray(error.data) ? error.data.length : 0}`;
    default:
      return `${place} ${error.message}, not ${valueText(error.data)}`;
  }
}

/** From a JSON pointer to the way people write it: `/features/3/columns/0` is `features[3].columns[0]`. */
function placeText(pointer: string): string {
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
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}
