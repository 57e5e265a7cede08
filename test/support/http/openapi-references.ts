import type { OpenApiDocument } from '../../../api/openapi/openapi-types.js';

/**
 * Follows a `$ref` within the document. Returns any other part unchanged.
 * @throws Error when the target does not exist
 */
export function resolve<Part extends object>(document: OpenApiDocument, part: Part): Part {
  const pointer = pointerOf(part);
  if (pointer === undefined) return part;
  const found = pointer
    .slice('#/'.length)
    .split('/')
    .reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], document);
  if (typeof found !== 'object' || found === null) throw new Error(`${pointer} points to nothing`);
  return found as Part;
}

/** The target of a `$ref`, such as `#/components/schemas/V1Usage`; undefined for any other part. */
export const pointerOf = (part: object): string | undefined =>
  '$ref' in part && typeof part.$ref === 'string' ? part.$ref : undefined;
