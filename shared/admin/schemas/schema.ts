/*
 * Schemas of the console's requests and replies. The browser derives its types from them, so the files in this folder
 * import only each other, and lists of names in `shared/contract/`.
 */

/** A JSON Schema (2020-12). */
export type Schema = Readonly<Record<string, unknown>>;

/** The TypeScript type of the values that a schema accepts. Knows the keywords that this folder uses. */
export type ShapeOf<S> = S extends { readonly enum: readonly (infer Value)[] }
  ? Value
  : S extends { readonly type: infer Type }
    ? Type extends readonly (infer Each)[]
      ? ShapeOfType<Each, S>
      : ShapeOfType<Type, S>
    : unknown;

type ShapeOfType<Type, S> = Type extends 'string'
  ? string
  : Type extends 'integer' | 'number'
    ? number
    : Type extends 'boolean'
      ? boolean
      : Type extends 'null'
        ? null
        : Type extends 'array'
          ? S extends { readonly items: infer Item }
            ? readonly ShapeOf<Item>[]
            : readonly unknown[]
          : S extends { readonly properties: infer Members; readonly required: readonly (infer Required)[] }
            ? ShapeOfMembers<Members, Required>
            : S extends { readonly additionalProperties: infer Value }
              ? Readonly<Record<string, ShapeOf<Value>>>
              : never;

type ShapeOfMembers<Members, Required> = {
  readonly [Name in keyof Members as Name extends Required ? Name : never]: ShapeOf<Members[Name]>;
} & {
  readonly [Name in keyof Members as Name extends Required ? never : Name]?: ShapeOf<Members[Name]>;
};

type Properties<Members> = {
  readonly [Name in keyof Members as Name extends `${infer Optional}?` ? Optional : Name]: Members[Name];
};
type RequiredNames<Members> = Exclude<keyof Members & string, `${string}?`>;

/** A schema of an object without further members. Every member is required, unless its name ends with `?`. */
export function object<const Members extends Readonly<Record<string, Schema>>>(members: Members) {
  const names = Object.keys(members);
  return {
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(members).map(([name, schema]) => [name.replace('?', ''), schema]),
    ) as Properties<Members>,
    required: names.filter((name) => !name.endsWith('?')) as RequiredNames<Members>[],
    additionalProperties: false,
  } as const;
}

export const list = <const Item extends Schema>(items: Item) => ({ type: 'array', items }) as const;
/** An object with any names, and values of one schema. */
export const record = <const Value extends Schema>(value: Value) =>
  ({ type: 'object', additionalProperties: value }) as const;

export const text = { type: 'string' } as const;
/** One line of 1 to 200 characters for people: without control characters, and not blank. */
export const name = {
  type: 'string',
  minLength: 1,
  maxLength: 200,
  pattern: '^[^\\p{Cc}]*[^\\s\\p{Cc}][^\\p{Cc}]*$',
} as const;
export const textOrNull = { type: ['string', 'null'] } as const;
/** ISO 8601, UTC. */
export const instant = { type: 'string', format: 'date-time' } as const;
export const instantOrNull = { type: ['string', 'null'], format: 'date-time' } as const;
/** `YYYY-MM-DD`, UTC. */
export const day = { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' } as const;
/** `YYYY-MM`, UTC. */
export const month = { type: 'string', pattern: '^\\d{4}-(0[1-9]|1[0-2])$' } as const;
export const flag = { type: 'boolean' } as const;
export const count = { type: 'integer', minimum: 0 } as const;
export const countOrNull = { type: ['integer', 'null'], minimum: 0 } as const;
export const number = { type: 'number' } as const;
export const numberOrNull = { type: ['number', 'null'] } as const;
/** 0 to 1. */
export const share = { type: 'number', minimum: 0, maximum: 1 } as const;
export const score = { type: 'integer', minimum: 0, maximum: 100 } as const;

/** Any text, because an unknown id is answered with `not_found`. */
const id = { type: 'string', minLength: 1, maxLength: 100 } as const;
export const organisationId = id;
export const keyId = id;
export const modelId = id;
export const version = { type: 'string', minLength: 1, maxLength: 200 } as const;
export const crmId = { type: 'string', minLength: 1, maxLength: 255, format: 'well-formed-text' } as const;
export const bucket = { type: 'string', enum: ['live', 'test'] } as const;
/** How the contributions of fields are computed. */
export const explainMethod = { type: 'string', enum: ['tree', 'linear', 'occlusion'] } as const;
/** How a reply that ends early continues: send it as `before` or `after`. */
export const cursor = { type: 'string', minLength: 1, maxLength: 300 } as const;
/** The reply of an action without a result. */
export const nothing = object({});
