/**
 * Puts a `$ref` wherever a component stands: the parts of the document are built from plain nested objects, the same ones
 * that requests are checked with, and every object that is (by identity) a component is named instead of repeated.
 * @param value the document
 * @param components by section and name, as in `components`
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
      Object.fromEntries(
        Object.entries(entries as object).map(([name, component]) => [name, copy(component, true)]),
      ),
    ]),
  );
  const { components: _components, ...rest } = value;
  return { ...(copy(rest) as object), components } as Document;
}
