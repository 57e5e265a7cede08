/*
 * The language in which all JSON Schemas of requests and replies are written. TypeScript derives types from them. The
 * browser reads this file too, so it imports nothing.
 */

/** A JSON Schema (2020-12). */
export type Schema = Readonly<Record<string, unknown>>;

/**
 * Options of Ajv. The meta-schema would be compiled once more for each Ajv, which took a third of the processor time of
 * a gateway's start. Tests compare the schemas with it.
 */
export const withoutMetaSchema = { meta: false, validateSchema: false } as const;

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

type ObjectSchema<Members> = {
  readonly type: 'object';
  /** Absent in the document if it is empty: OpenAPI 3.0 refuses an empty list. */
  readonly required: readonly RequiredNames<Members>[];
  readonly properties: Properties<Members>;
};

/** A schema of an object, which may have further members. Every member is required, unless its name ends with `?`. */
function object<const Members extends Readonly<Record<string, Schema>>>(members: Members): ObjectSchema<Members> {
  const required = Object.keys(members).filter((name) => !name.endsWith('?'));
  const properties = Object.entries(members).map(([name, schema]) => [name.replace('?', ''), schema]);
  const schema = {
    type: 'object',
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries(properties),
  };
  return schema as unknown as ObjectSchema<Members>;
}

/** As `object`, without further members. */
export const closedObject = <const Members extends Readonly<Record<string, Schema>>>(members: Members) =>
  ({ ...object(members), additionalProperties: false }) as const;

/**
 * A schema with its description for people.
 * @param further keywords, such as `examples`
 */
export const described = <
  const Described extends Schema,
  const Further extends Schema = Readonly<Record<never, never>>,
>(
  description: string,
  schema: Described,
  further?: Further,
) => ({ ...schema, description, ...further }) as Described & { readonly description: string } & Further;

/** An object with its description for people: see `object` and `described`. */
export const describedObject = <
  const Members extends Readonly<Record<string, Schema>>,
  const Further extends Schema = Readonly<Record<never, never>>,
>(
  description: string,
  members: Members,
  further?: Further,
) => described(description, object(members), further);

export const list = <const Item extends Schema>(items: Item) => ({ type: 'array', items }) as const;
/** An object with any names, and values of one schema. */
export const record = <const Value extends Schema>(value: Value) =>
  ({ type: 'object', additionalProperties: value }) as const;

export const text = { type: 'string' } as const;
export const textOrNull = { type: ['string', 'null'] } as const;
/** ISO 8601, UTC. */
export const instant = { type: 'string', format: 'date-time' } as const;
export const instantOrNull = { type: ['string', 'null'], format: 'date-time' } as const;
export const flag = { type: 'boolean' } as const;
export const count = { type: 'integer', minimum: 0 } as const;
export const countOrNull = { type: ['integer', 'null'], minimum: 0 } as const;
export const number = { type: 'number' } as const;
export const numberOrNull = { type: ['number', 'null'] } as const;
/** 0 to 1. */
export const share = { type: 'number', minimum: 0, maximum: 1 } as const;
export const score = { type: 'integer', minimum: 0, maximum: 100 } as const;
