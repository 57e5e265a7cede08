import { expect } from 'chai';
import { openApiDocument } from '../../api/openapi/document.js';
import { olderDocument } from '../../api/openapi/older-document.js';
import { olderSchema } from '../../api/openapi/older-schema.js';
import type { Schema } from '../../api/openapi/openapi-types.js';

describe('OpenAPI 3.0 from 3.1', () => {
  const cases: readonly [string, Schema, Schema][] = [
    ['a type or null', { type: ['string', 'null'] }, { type: 'string', nullable: true }],
    [
      'several types',
      { type: ['string', 'number'], description: 'One.' },
      { description: 'One.', anyOf: [{ type: 'string' }, { type: 'number' }] },
    ],
    [
      'several types or null, an array among them',
      { type: ['string', 'array', 'null'], items: { type: 'string' } },
      {
        anyOf: [
          { type: 'string', nullable: true },
          { type: 'array', nullable: true, items: { type: 'string' } },
        ],
      },
    ],
    ['a constant', { type: 'boolean', const: true }, { type: 'boolean', enum: [true] }],
    ['examples', { type: 'string', examples: ['a', 'b'] }, { type: 'string', example: 'a' }],
    [
      'an exclusive bound',
      { type: 'number', exclusiveMinimum: 0 },
      { type: 'number', minimum: 0, exclusiveMinimum: true },
    ],
    [
      'neither a content schema nor names, as it cannot',
      { type: 'string', contentMediaType: 'application/json', contentSchema: {}, propertyNames: {} },
      { type: 'string' },
    ],
    [
      'nested schemas',
      {
        type: 'object',
        properties: { a: { const: 1 } },
        additionalProperties: { type: ['integer', 'null'] },
        not: { const: 2 },
      },
      {
        type: 'object',
        properties: { a: { enum: [1] } },
        additionalProperties: { type: 'integer', nullable: true },
        not: { enum: [2] },
      },
    ],
    [
      'alternatives',
      { anyOf: [{ const: 1 }, { type: 'array', items: { const: 2 } }] },
      { anyOf: [{ enum: [1] }, { type: 'array', items: { enum: [2] } }] },
    ],
    [
      'members that are called as keywords are',
      { type: 'object', properties: { type: { type: 'string' }, examples: { const: 1 } } },
      { type: 'object', properties: { type: { type: 'string' }, examples: { enum: [1] } } },
    ],
  ];
  for (const [what, schema, older] of cases) {
    it(`says ${what}`, () => {
      expect(olderSchema(schema)).to.deep.equal(older);
    });
  }

  it('refuses a keyword that it does not know, also deep in a schema', () => {
    const schema = { type: 'object', properties: { a: { items: { unevaluatedProperties: false } } } };
    expect(() => olderSchema(schema)).to.throw('"unevaluatedProperties"');
  });

  describe('of the whole document', () => {
    const newest = openApiDocument({ serverUrl: undefined, docsUrl: 'https://api.example.com/docs' });
    const older = olderDocument(newest);

    it('has the same operations, parameters, statuses, examples and names', () => {
      expect(shape(older.paths)).to.deep.equal(shape(newest.paths));
      for (const section of ['schemas', 'headers', 'parameters', 'responses', 'securitySchemes'] as const)
        expect(Object.keys(older.components[section])).to.deep.equal(Object.keys(newest.components[section]));
    });

    it('names its version, and has nothing at its head that 3.0 does not know', () => {
      expect(older.openapi).to.equal('3.0.3');
      expect(older.info).to.have.all.keys('title', 'version', 'description', 'license');
      expect(older.info.license).to.deep.equal({
        name: 'Apache-2.0',
        url: 'https://www.apache.org/licenses/LICENSE-2.0',
      });
    });

    it('has one type a schema and no word of 3.1', () => {
      const words = [
        'propertyNames',
        'const',
        'contentMediaType',
        'contentSchema',
        'prefixItems',
        'unevaluatedProperties',
      ];
      for (const schema of schemasOf(older)) {
        expect(schema).to.not.have.any.keys(...words);
        if (schema.type !== undefined) expect(schema.type).to.be.a('string').and.not.equal('null');
      }
    });
  });
});

/** A part of a document without its schemas. */
function shape(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(shape);
  if (typeof part !== 'object' || part === null) return part;
  const members = Object.entries(part).filter(([key]) => key !== 'schema');
  return Object.fromEntries(members.map(([key, member]) => [key, shape(member)]));
}

/** Every schema in a part of a document; what an example holds is none. */
function schemasOf(part: unknown, isSchema = false): Schema[] {
  if (typeof part !== 'object' || part === null) return [];
  const below = Object.entries(part).flatMap(([key, member]) => {
    if (['example', 'examples', 'enum', 'default'].includes(key)) return [];
    if (key === 'properties' || key === 'schemas')
      return Object.values(member as object).flatMap((each) => schemasOf(each, true));
    const isBelow = ['schema', 'items', 'not', 'additionalProperties'].includes(key);
    return schemasOf(member, isBelow || (isSchema && Array.isArray(part)) || key === 'anyOf');
  });
  return isSchema && !Array.isArray(part) ? [part as Schema, ...below] : below;
}
