import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { readExamples } from '../../api/openapi/examples.js';
import {
  webhookExplainSchema,
  webhookFormSchema,
  webhookRequestSchema,
} from '../../api/schemas/scoring/webhook-request.js';
import { readWebhook } from '../../api/webhook/request.js';
import { ApiError } from '../../shared/contract/errors.js';

const ajv = new Ajv2020({ strict: false, ownProperties: true });
ajv.addFormat('well-formed-text', (text) => text.isWellFormed());
const isForm = ajv.compile(webhookRequestSchema);
const isFormBody = ajv.compile(webhookFormSchema);
const modelInAddress = (name: string) => (name === 'model_id' ? 'mdl_1' : undefined);

/** Whether the service can read a body as a webhook, with the model in the query. */
function isRead(body: unknown): boolean {
  try {
    readWebhook(body, modelInAddress, ['model_id']);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.errorName === 'unreadableRequest') return false;
    throw error;
  }
}

/** A body with `explain` as the boolean that the schema has: other spellings are documented in words. */
function withBoolean(sent: unknown): unknown {
  if (Array.isArray(sent)) return sent.length === 1 ? sent.map(withBoolean) : sent;
  if (typeof sent !== 'object' || sent === null || !Object.hasOwn(sent, 'explain')) return sent;
  const { explain } = sent as { explain?: unknown };
  const text = typeof explain === 'string' ? explain.trim().toLowerCase() : explain;
  if (text === 1 || text === '1' || text === 'true') return { ...sent, explain: true };
  if (text === 0 || text === '0' || text === 'false') return { ...sent, explain: false };
  return sent;
}

const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
const fields = fc.dictionary(fc.string(), fc.oneof(scalar, fc.record({ value: scalar })), { maxKeys: 3 });
const someText = fc.oneof(
  fc.constant(''),
  fc.string({ unit: 'binary', maxLength: 3 }),
  fc.constantFrom('\0', '\ud800', 'é'.repeat(255), '🦊'.repeat(255), 'x'.repeat(256)),
);
const anything = fc.oneof(scalar, fields, fc.array(scalar, { maxLength: 2 }));

/** Bodies that match one of the formats, or almost do. */
const body = fc.record(
  {
    model_id: fc.oneof(someText, anything),
    crm_id: fc.oneof(someText, anything),
    explain: fc.oneof(fc.constantFrom(true, false, 0, 1, 'true', 'false', '1', '0', 2, 'yes'), anything),
    input_report: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom('summary', 'records') },
      { weight: 1, arbitrary: fc.oneof(fc.constantFrom('all', ''), anything) },
    ),
    record: anything,
    inputFields: anything,
    callbackId: fc.oneof(someText, anything),
    properties: anything,
    data: anything,
    lead_source: scalar,
  },
  { requiredKeys: [] },
);

describe('webhook schemas', () => {
  it('accept exactly the bodies that the service can read', () => {
    let accepted = 0;
    const property = fc.property(fc.oneof(body, fc.array(body, { maxLength: 2 }), anything), (sent) => {
      const isAccepted = isForm(withBoolean(sent));
      accepted += isAccepted ? 1 : 0;
      expect(isAccepted, JSON.stringify(sent)).to.equal(isRead(sent));
    });
    fc.assert(property, { numRuns: 300 });
    expect(accepted, 'accepted bodies of 300').to.be.within(30, 270);
  });

  it('accept exactly the Pipedrive events that the service can read', () => {
    const event = fc.record({ meta: fields, data: anything, record: anything }, { requiredKeys: ['meta', 'data'] });
    fc.assert(
      fc.property(event, (sent) => {
        expect(isForm(sent), JSON.stringify(sent)).to.equal(isRead(sent));
      }),
    );
  });

  it('accept exactly the forms that the service can read', () => {
    const text = fc.string({ unit: 'binary-ascii', maxLength: 4 });
    const form = fc.record(
      {
        model_id: fc.oneof(text, fc.array(text, { minLength: 2, maxLength: 2 })),
        crm_id: text,
        explain: fc.constantFrom('true', 'false', '1', '0', '', 'yes'),
        input_report: fc.constantFrom('summary', 'records', 'summary', 'records', 'all'),
        lead_source: fc.oneof(text, fc.array(text, { minLength: 2, maxLength: 2 })),
      },
      { requiredKeys: ['lead_source'] },
    );
    fc.assert(
      fc.property(form, (sent) => {
        expect(isFormBody(withBoolean(sent)), JSON.stringify(sent)).to.equal(isRead(sent));
      }),
    );
  });

  it('have explain as a boolean, and name the other spellings that are read', () => {
    expect(webhookExplainSchema.type).to.equal('boolean');
    for (const spelling of [1, 0, 'true', 'false', '1', '0']) {
      expect(webhookExplainSchema.description).to.include(String(spelling));
      expect(isRead({ record: {}, explain: spelling }), String(spelling)).to.equal(true);
    }
  });

  for (const [name, { value }] of Object.entries(readExamples('webhook', 'json'))) {
    it(`accept the example ${name}, which contains the common record`, () => {
      expect(isForm(value)).to.equal(true);
      const { record } = readWebhook(value, modelInAddress, ['model_id']);
      expect(record).to.include({ lead_source: 'Webinar' });
      expect(Number(record.company_size)).to.equal(120);
    });
  }

  it('have a reply example with the outputFields of a HubSpot custom action', () => {
    const action = readExamples('webhook', 'replies').hubSpotAction?.value;
    expect(action).to.have.nested.property('outputFields.hs_execution_state', 'SUCCESS');
  });
});
