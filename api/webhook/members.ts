/** A JSON object. */
export type Members = Readonly<Record<string, unknown>>;

/** Whether a value is a JSON object. */
export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An own member of an object; never one of its prototype. */
export const memberOf = (members: Members, name: string): unknown =>
  Object.hasOwn(members, name) ? members[name] : undefined;

/**
 * An object without some of its members; the object itself when it has none of them. `__proto__` is a member like any
 * other. Written as a loop, without lists of members: a body may have a hundred thousand.
 */
export function without(members: Members, names: ReadonlySet<string>): Members {
  if (![...names].some((name) => Object.hasOwn(members, name))) return members;
  const kept: Record<string, unknown> = {};
  for (const name in members) {
    if (names.has(name)) continue;
    if (name === '__proto__') setProto(kept, members[name]);
    else kept[name] = members[name];
  }
  return kept;
}

function setProto(members: object, value: unknown): void {
  const asMember = { value, enumerable: true, writable: true, configurable: true };
  Object.defineProperty(members, '__proto__', asMember);
}

/** Whether some member fulfils a condition; the first that does ends the search. */
export function someMember(members: Members, isSo: (value: unknown, name: string) => boolean): boolean {
  for (const name in members) if (isSo(members[name], name)) return true;
  return false;
}

/** An object of entries, in which `__proto__` is a member like any other. */
export function fromEntries(entries: readonly (readonly [string, unknown])[]): Members {
  return Object.fromEntries(entries);
}
