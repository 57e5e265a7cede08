import fc from 'fast-check';

type Path = readonly (string | number)[];

/** JSON and near-JSON texts that are known to break parsers, databases and languages. */
const oddTexts: readonly string[] = [
  ...['1e999', '-1e999', 'NaN', '-0', '1E400', '9'.repeat(400), '0.1e-400', '1.', '01', '0x10', '1_000'],
  ...['"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', '"\\u"', '"\u2028"', '"\ufeff"', '"💥"', '"\\""', '"\n"'],
  ...['[]', '{}', '[[]]', '[null]', '{"":{}}', 'null', 'true', 'undefined', '', ',', ',,', ':', '//', '/**/'],
  ...['{"$ne":null}', '{"$where":"sleep(1000)"}', '{"__proto__":{"a":1}}', '{"constructor":{"prototype":1}}'],
  ...['{"toJSON":1}', '{"_bsontype":"Code"}', '{"value":1}', '{"value":{"value":[]}}', '{"then":1}'],
  ...['"mdl_../../x"', '"%00"', '"\\\\"', `"${'x'.repeat(300)}"`, '['.repeat(40), `${'['.repeat(40)}${']'.repeat(40)}`],
];

const oddValue = (): fc.Arbitrary<unknown> =>
  fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom<unknown>(null, true, '', ' ', 0, -0, 1e308, 5e-324, 2 ** 53, [], {}, [[]], [{}], {
      value: [],
    }),
    fc.string({ unit: 'binary', maxLength: 20 }),
  );

/** JSON texts from valid bodies, with members replaced, removed or renamed, or with the text itself spoilt. */
export const mutatedJson = (goodBodies: readonly unknown[]): fc.Arbitrary<string> =>
  fc
    .record({
      body: fc.constantFrom(...goodBodies),
      changes: fc.array(
        fc.record({ at: fc.nat(), kind: fc.constantFrom('replace', 'remove', 'rename'), value: oddValue() }),
        { maxLength: 3 },
      ),
      splices: fc.array(fc.record({ at: fc.nat(), cut: fc.nat({ max: 3 }), put: fc.constantFrom(...oddTexts) }), {
        maxLength: 2,
        size: 'small',
      }),
      isSpoilt: fc.boolean(),
    })
    .map(({ body, changes, splices, isSpoilt }) => {
      const text = JSON.stringify(changes.reduce<unknown>(changed, structuredClone(body))) ?? '';
      return isSpoilt ? splices.reduce(spliced, text) : text;
    });

function changed(
  body: unknown,
  { at, kind, value }: { readonly at: number; readonly kind: string; readonly value: unknown },
): unknown {
  const paths = pathsOf(body);
  const path = paths[at % paths.length] ?? [];
  const key = path.at(-1);
  const parent = path.slice(0, -1).reduce<unknown>((inside, step) => memberAt(inside, step), body);
  if (key === undefined || typeof parent !== 'object' || parent === null) return structuredClone(value);
  const name = kind === 'rename' && !Array.isArray(parent) ? (JSON.stringify(value) ?? '') : key;
  const kept = memberAt(parent, key);
  if (kind !== 'replace') Reflect.deleteProperty(parent, key);
  if (kind !== 'remove') {
    const member = kind === 'rename' ? kept : structuredClone(value);
    Object.defineProperty(parent, name, {
      value: member,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return body;
}

function spliced(text: string, { at, cut, put }: { at: number; cut: number; put: string }): string {
  // At the end of a value or member, where a change most likely breaks the syntax.
  const ends = [...text.matchAll(/[[\]{},:]/g)].map((match) => match.index);
  const index = ends[at % ends.length] ?? 0;
  return text.slice(0, index) + put + text.slice(index + cut);
}

function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [path, ...keys.flatMap((key) => pathsOf(memberAt(value, key), [...path, key]))];
}

const memberAt = (value: unknown, key: string | number): unknown =>
  typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined;
