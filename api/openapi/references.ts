import type { OpenApiDocument } from './openapi-types.js';

/**
 * Replaces every component in the document by a `$ref`. The document is built from the same nested objects that
 * requests are validated with, so components are recognised by identity.
 */
export function withReferences<Document extends { readonly components: object }>(value: Document): Document {
  const pointers = new Map<unknown, string>();
  for (const [section, entries] of Object.entries(value.components)) {
    for (const [name, component] of Object.entries(entries as object)) {
      pointers.set(component, `#/components/${section}/${name}`);
    }
  }
  const copy = (part: unknown, isDefinition = false): unknown => {
    const pointer = pointers.get(part);
    if (pointer !== undefined && !isDefinition) return { $ref: pointer };
    if (Array.isArray(part)) return part.map((item) => copy(item));
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([key, member]) => [key, copy(member)]));
  };
  const components = Object.fromEntries(
    Object.entries(value.components).map(([section, entries]) => [
      section,
      Object.fromEntries(Object.entries(entries as object).map(([name, component]) => [name, copy(component, true)])),
    ]),
  );
  const { components: _components, ...rest } = value;
  return { ...(copy(rest) as object), components } as Document;
}

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
