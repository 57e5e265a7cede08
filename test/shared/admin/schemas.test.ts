import { readdirSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { name } from '../../../shared/admin/schemas/members.js';
import { closedObject, list, type ShapeOf, text, textOrNull } from '../../../shared/contract/schema.js';
import { projectFile } from '../../../shared/process/project-root.js';

const sample = closedObject({
  text,
  'maybe?': textOrNull,
  many: list(closedObject({ kind: { type: 'string', enum: ['a', 'b'] } })),
});

/** Fails to compile when a type is not exactly the expected one. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Flat<T> = { readonly [Name in keyof T]: T[Name] };
const isDerived: Same<
  Flat<ShapeOf<typeof sample>>,
  { readonly text: string; readonly maybe?: string | null; readonly many: readonly ManyItem[] }
> = true;
type ManyItem = ShapeOf<(typeof sample)['properties']['many']['items']>;
const item: ManyItem = { kind: 'a' };

describe('the schemas of the console', () => {
  const folder = projectFile('shared/admin/schemas');
  const files = readdirSync(folder).filter((file) => file.endsWith('.ts'));

  it('give types in which a name with "?" is optional and the others are required', () => {
    expect({ isDerived, item }).to.deep.equal({ isDerived: true, item: { kind: 'a' } });
    expect(sample.required).to.deep.equal(['text', 'many']);
    expect(Object.keys(sample.properties)).to.deep.equal(['text', 'maybe', 'many']);
  });

  it('are valid JSON Schemas that accept no unknown member', async () => {
    const ajv = new Ajv2020({ strict: true, strictTypes: false, unicodeRegExp: true });
    for (const format of ['date-time', 'well-formed-text']) ajv.addFormat(format, true);
    let schemas = 0;
    for (const file of files) {
      const exports: Record<string, unknown> = await import(
        `../../../shared/admin/schemas/${file.replace('.ts', '.js')}`
      );
      for (const [exported, schema] of Object.entries(exports)) {
        if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) continue;
        expect(() => ajv.compile(schema), `${file}: ${exported}`).to.not.throw();
        if ('properties' in schema) expect(schema, exported).to.include({ additionalProperties: false });
        schemas += 1;
      }
    }
    expect(schemas).to.be.above(50);
  });

  it('import only each other, the language of schemas and lists of names, because the browser reads them', () => {
    const lists = ['comparison/comparison-verdict', 'roles', 'schema', 'upload-states'].map(
      (name) => `../../contract/${name}.js`,
    );
    for (const file of files) {
      const source = readFileSync(`${folder}/${file}`, 'utf8');
      const imported = [...source.matchAll(/from '([^']+)'/g)].map(([, path]) => path);
      const others = imported.filter((path = '') => !path.startsWith('./') && !lists.includes(path));
      expect(others).to.deep.equal([], file);
    }
  });

  it('refuse names that are blank or have control characters', () => {
    const isName = new Ajv2020({ unicodeRegExp: true }).compile(name);
    expect(['Ada', ' Ada Lovelace ', '山田', "O'Neill <script>"].filter((each) => !isName(each))).to.deep.equal([]);
    expect(['', '  ', 'a\nb', '\u0000', 'a\u009b', 'x'.repeat(201)].filter((each) => isName(each))).to.deep.equal([]);
  });
});
