import type { Schema } from './openapi-types.js';

/**
 * A schema of an object. Every member is required, unless its name ends with `?`.
 * @param further keywords, such as `examples`
 */
export function objectSchema<const Members extends Readonly<Record<string, Schema>>>(
  description: string,
  members: Members,
  further: Schema = {},
) {
  const entries = Object.entries(members).map(([name, schema]) => [name.replace('?', ''), schema] as const);
  const required = entries.map(([name]) => name).filter((name) => name in members);
  const properties = Object.fromEntries(entries) as Properties<Members>;
  return { type: 'object', ...(required.length > 0 && { required }), properties, description, ...further } as const;
}

type Properties<Members> = {
  readonly [Name in keyof Members as Name extends `${infer Optional}?` ? Optional : Name]: Members[Name];
};

/** A schema of a number of things. */
export const countSchema = (description: string) => ({ type: 'integer', minimum: 0, description }) as const;

/** A schema of an instant. */
export const instantSchema = (description: string) => ({ type: 'string', format: 'date-time', description }) as const;
