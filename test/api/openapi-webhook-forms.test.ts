import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  webhookReplyExamples,
  webhookRequestExamples,
} from '../../api/openapi/operations/webhook-examples.js';
import { webhookFormSchema, webhookRequestSchema } from '../../api/schemas/webhook-request.js';
import { readWebhook } from '../../api/webhook/request.js';
import { ApiError } from '../../shared/errors.js';

const ajv = new Ajv2020({ strict: false, ownProperties: true });
ajv.addFormat('well-formed-text', (text) => text.isWellFormed());
const isForm = ajv.compile(webhookRequestSchema);
const isFormBody = ajv.compile(webhookFormSchema);
const modelInAddress = { model_id: 'mdl_1' };

/** Whether the service can read a body as a webhook, the model being named in the address. */
function isRead(body: unknown): boolean {
  try {
    readWebhook(body, modelInAddress);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.errorName === 'unreadableRequest') return false;
    throw error;
  }
}

const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
const fields = fc.dictionary(fc.string(), fc.oneof(scalar, fc.record({ value: scalar })), { maxKeys: 3 });
const someText = fc.oneof(
  fc.constant(''),
  fc.string({ unit: 'binary', maxLength: 3 }),
  fc.constantFrom('\0', '\ud800', 'é'.repeat(255), '🦊'.repeat(255), 'x'.repeat(256)),
);
const anything = fc.oneof(scalar, fields, fc.array(scalar, { maxLength: 2 }));

/** Bodies that are, or nearly are, in one of the forms. */
const body = fc.record(
  {
    model_id: fc.oneof(someText, anything),
    crm_id: fc.oneof(someText, anything),
    explain: fc.oneof(fc.constantFrom(true, false, 0, 1, 'true', 'false', '1', '0', 2, 'yes'), anything),
    record: anything,
    inputFields: anything,
    callbackId: fc.oneof(someText, anything),
    properties: anything,
    data: anything,
    lead_source: scalar,
  },
  { requiredKeys: [] },
);

describe('the schemas of webhook bodies', () => {
  it('take what the service reads, and nothing that it cannot read', () => {
    let taken = 0;
    const property = fc.property(fc.oneof(body, fc.array(body, { maxLength: 2 }), anything), (sent) => {
      const isTaken = isForm(sent);
      taken += isTaken ? 1 : 0;
      expect(isTaken, JSON.stringify(sent)).to.equal(isRead(sent));
    });
    fc.assert(property, { numRuns: 3000 });
    expect(taken, 'bodies of either kind were tried').to.be.within(300, 2700);
  });

  it("take Pipedrive's events where the service does", () => {
    const event = fc.record(
      { meta: fields, data: anything, record: anything },
      { requiredKeys: ['meta', 'data'] },
    );
    fc.assert(
      fc.property(event, (sent) => {
        expect(isForm(sent), JSON.stringify(sent)).to.equal(isRead(sent));
      }),
    );
  });

  it('take of forms what the service reads', () => {
    const text = fc.string({ unit: 'binary-ascii', maxLength: 4 });
    const form = fc.record(
      {
        model_id: fc.oneof(text, fc.array(text, { minLength: 2, maxLength: 2 })),
        crm_id: text,
        explain: fc.constantFrom('true', 'false', '1', '0', '', 'yes'),
        lead_source: fc.oneof(text, fc.array(text, { minLength: 2, maxLength: 2 })),
      },
      { requiredKeys: ['lead_source'] },
    );
    fc.assert(
      fc.property(form, (sent) => {
        expect(isFormBody(sent), JSON.stringify(sent)).to.equal(isRead(sent));
      }),
    );
  });

  for (const [name, { value }] of Object.entries(webhookRequestExamples)) {
    it(`take the example ${name}, which the service reads as the same record`, () => {
      expect(isForm(value)).to.equal(true);
      const { record } = readWebhook(value, modelInAddress);
      expect(record).to.include({ lead_source: 'Webinar' });
      expect(Number(record.company_size)).to.equal(120);
    });
  }

  it('have an answer for the form that is answered in a way of its own', () => {
    const action = webhookReplyExamples.hubSpotAction?.value;
    expect(action).to.have.nested.property('outputFields.hs_execution_state', 'SUCCESS');
  });
});
