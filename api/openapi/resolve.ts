import type { OpenApiDocument } from './openapi-types.js';

/**
 * What a reference in the document stands for; anything else as it is.
 * @throws Error when it points to nothing
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

/** Where a reference points, as in `#/components/schemas/V1Usage`; undefined for what is none. */
export const pointerOf = (part: object): string | undefined =>
  '$ref' in part && typeof part.$ref === 'string' ? part.$ref : undefined;
