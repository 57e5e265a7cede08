/** A JSON object. */
export type Members = Readonly<Record<string, unknown>>;

/** Whether a value is a JSON object. */
export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An own member of an object; never one of its prototype. */
export const memberOf = (members: Members, name: string): unknown =>
  Object.hasOwn(members, name) ? members[name] : undefined;

/** An object without some of its members. `__proto__` is a member like any other. */
export function without(members: Members, names: ReadonlySet<string>): Members {
  return fromEntries(Object.entries(members).filter(([name]) => !names.has(name)));
}

/** An object of entries, in which `__proto__` is a member like any other. */
export function fromEntries(entries: readonly (readonly [string, unknown])[]): Members {
  return Object.fromEntries(entries);
}
