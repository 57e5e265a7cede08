import { expect } from 'chai';
import { openApiDocument } from '../../api/openapi/document.js';
import { toOpenApi30, toSchema30 } from '../../api/openapi/openapi-3-0.js';
import type { Schema } from '../../shared/contract/schema.js';

describe('conversion from OpenAPI 3.1 to 3.0', () => {
  const cases: readonly [string, Schema, Schema][] = [
    ['a nullable type', { type: ['string', 'null'] }, { type: 'string', nullable: true }],
    [
      'several types',
      { type: ['string', 'number'], description: 'One.' },
      { description: 'One.', anyOf: [{ type: 'string' }, { type: 'number' }] },
    ],
    [
      'several nullable types with an array',
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
      'keywords without an equivalent, by omitting them',
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
      'members with the names of keywords',
      { type: 'object', properties: { type: { type: 'string' }, examples: { const: 1 } } },
      { type: 'object', properties: { type: { type: 'string' }, examples: { enum: [1] } } },
    ],
  ];
  for (const [title, schema, expected] of cases) {
    it(`converts ${title}`, () => {
      expect(toSchema30(schema)).to.deep.equal(expected);
    });
  }

  it('throws on an unknown keyword, also in a nested schema', () => {
    const schema = { type: 'object', properties: { a: { items: { unevaluatedProperties: false } } } };
    expect(() => toSchema30(schema)).to.throw('"unevaluatedProperties"');
  });

  describe('document', () => {
    const document31 = openApiDocument({
      keyBrand: 'acme',
      serverUrl: undefined,
      docsUrl: 'https://api.example.com/docs',
    });
    const document30 = toOpenApi30(document31);

    it('keeps operations, parameters, statuses, examples and component names', () => {
      expect(shape(document30.paths)).to.deep.equal(shape(document31.paths));
      for (const section of ['schemas', 'headers', 'parameters', 'responses', 'securitySchemes'] as const)
        expect(Object.keys(document30.components[section])).to.deep.equal(Object.keys(document31.components[section]));
    });

    it('has version 3.0.3 and only info members of 3.0', () => {
      expect(document30.openapi).to.equal('3.0.3');
      expect(document30.info).to.have.all.keys('title', 'version', 'description', 'license');
      expect(document30.info.license).to.deep.equal({
        name: 'Apache-2.0',
        url: 'https://www.apache.org/licenses/LICENSE-2.0',
      });
    });

    it('has one type per schema and no keyword of 3.1', () => {
      const keywords = [
        'propertyNames',
        'const',
        'contentMediaType',
        'contentSchema',
        'prefixItems',
        'unevaluatedProperties',
      ];
      for (const schema of schemasOf(document30)) {
        expect(schema).to.not.have.any.keys(...keywords);
        if (schema.type !== undefined) expect(schema.type).to.be.a('string').and.not.equal('null');
      }
    });
  });
});

/** Part of a document without its schemas. */
function shape(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(shape);
  if (typeof part !== 'object' || part === null) return part;
  const members = Object.entries(part).filter(([key]) => key !== 'schema');
  return Object.fromEntries(members.map(([key, member]) => [key, shape(member)]));
}

/** Every schema in a part of a document, ignoring examples. */
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
