import type { BareOperation, PathItem } from './openapi-types.js';

/** The parts of a document: of the API, or of the console's. */
interface DocumentParts {
  readonly info: object;
  readonly paths: Readonly<Record<string, PathItem<BareOperation>>>;
  readonly components: object;
}

/** Writes an OpenAPI 3.1 document. */
export const writeDocument = <Parts extends DocumentParts>(parts: Parts): { readonly openapi: string } & Parts =>
  withReferences({ openapi: '3.1.0', ...parts });

/**
 * Replaces every component in the document by a `$ref`. The document is built from the same nested objects that
 * requests are validated with, so components are recognised by identity.
 */
function withReferences<Document extends { readonly components: object }>(value: Document): Document {
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
