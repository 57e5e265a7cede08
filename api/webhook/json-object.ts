export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An own member of an object; members of the prototype do not count. */
export const memberOf = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/**
 * Copies an object without some members, or returns the object itself when it has none of them. Keeps a member called
 * `__proto__`. A loop without intermediate arrays, because a body may have 100,000 members.
 */
export function without(object: JsonObject, names: ReadonlySet<string>): JsonObject {
  if (![...names].some((name) => Object.hasOwn(object, name))) return object;
  const kept: Record<string, unknown> = {};
  for (const name in object) {
    if (names.has(name)) continue;
    // An assignment to `__proto__` would set the prototype.
    if (name === '__proto__') defineMember(kept, name, object[name]);
    else kept[name] = object[name];
  }
  return kept;
}

function defineMember(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
}

/** Whether a member satisfies a condition. Stops at the first match. */
export function someMember(object: JsonObject, matches: (value: unknown, name: string) => boolean): boolean {
  for (const name in object) if (matches(object[name], name)) return true;
  return false;
}
