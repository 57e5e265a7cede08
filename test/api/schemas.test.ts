import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { jobRequestSchema } from '../../api/schemas/job-request.js';
import { outcomesRequestSchema } from '../../api/schemas/outcomes.js';
import { scoreRequestSchema } from '../../api/schemas/scoring/score-request.js';

describe('the schemas of request bodies', () => {
  const ajv = new Ajv2020();
  const schemas = { jobRequestSchema, outcomesRequestSchema, scoreRequestSchema };

  for (const [name, schema] of Object.entries(schemas))
    it(`agree with the meta-schema of JSON Schema 2020-12: ${name}`, () => {
      expect(ajv.validateSchema(schema), ajv.errorsText()).to.equal(true);
    });

  it('are refused when a keyword has a wrong value', () => {
    expect(new Ajv2020({ logger: false }).validateSchema({ ...scoreRequestSchema, required: 'records' })).to.equal(
      false,
    );
  });
});
