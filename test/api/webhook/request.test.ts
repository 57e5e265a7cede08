import { expect } from 'chai';
import fc from 'fast-check';
import { readWebhook } from '../../../api/webhook/request.js';
import { ApiError } from '../../../shared/contract/errors.js';

const read = (body: unknown, query: Record<string, string> = {}) =>
  readWebhook(body, (name) => query[name], Object.keys(query));
const withModel = (body: Record<string, unknown>) => read({ model_id: 'm', ...body });

describe('readWebhook', () => {
  describe('record', () => {
    const record = { size: 5, note: 'x' };
    const forms: Readonly<Record<string, unknown>> = {
      'a flat body': { model_id: 'm', ...record },
      'a canonical body': { model_id: 'm', record },
      'an array of one': [{ model_id: 'm', ...record }],
      'a HubSpot contact with wrapped values': {
        model_id: 'm',
        vid: 1,
        properties: { size: { value: 5, versions: [{ value: 4 }] }, note: { value: 'x' } },
      },
      'a HubSpot object with plain values': { model_id: 'm', objectId: 1, properties: record },
      'a HubSpot custom action': { model_id: 'm', callbackId: 'c', inputFields: record },
      'a HubSpot custom action with the model as an input': {
        callbackId: 'c',
        inputFields: { model_id: 'm', ...record },
      },
      'a HubSpot custom action with object properties and inputs': {
        callbackId: 'c',
        object: { objectId: 1, properties: { size: '4', note: 'x' } },
        inputFields: { model_id: 'm', size: 5 },
      },
      'a Pipedrive event with custom fields': {
        model_id: 'm',
        meta: {},
        data: { note: 'x', custom_fields: { size: { value: 5 } } },
      },
      'an n8n item': { json: { model_id: 'm', ...record }, pairedItem: { item: 0 } },
      'an array of one n8n item': [{ json: { model_id: 'm', record } }],
      'the output of an n8n Webhook node': {
        headers: {},
        params: {},
        query: {},
        body: { model_id: 'm', ...record },
      },
      'the output of an n8n Webhook node with an array of one': {
        headers: {},
        body: [{ model_id: 'm', properties: { size: { value: 5 }, note: { value: 'x' } } }],
      },
      'an n8n item with the output of a Webhook node': {
        json: { headers: {}, body: { model_id: 'm', record } },
      },
      'an n8n item with such an item': { json: { json: { headers: {}, body: { model_id: 'm', record } } } },
    };
    for (const [name, body] of Object.entries(forms)) {
      it(`reads the record from ${name}`, () => {
        const { modelId, record: found } = read(body);
        const { size, note } = found;
        expect({ modelId, size, note }).to.deep.equal({ modelId: 'm', ...record });
      });
    }

    it('unwraps the options and amounts of Pipedrive', () => {
      const custom_fields = {
        option: { type: 'enum', id: 7 },
        labelled: { type: 'enum', id: 7, label: 'Large' },
        options: { type: 'set', values: [{ id: 7 }, { id: 8, label: 'b' }] },
        money: { type: 'monetary', value: 12, currency: 'EUR' },
        nothing: null,
        odd: { from: 1 },
      };
      const { record } = withModel({
        meta: {},
        data: { value: { amount: 9, currency: 'EUR' }, custom_fields },
      });
      const { custom_fields: _, ...fields } = record;
      expect(fields).to.deep.equal({
        value: 9,
        option: 7,
        labelled: 'Large',
        options: [7, 'b'],
        money: 12,
        nothing: null,
        odd: { from: 1 },
      });
    });

    it('keeps members called __proto__ and constructor as fields', () => {
      const body = JSON.parse('{"model_id":"m","__proto__":{"a":1},"constructor":2}') as unknown;
      expect(Object.entries(read(body).record)).to.deep.equal([
        ['__proto__', { a: 1 }],
        ['constructor', 2],
      ]);
    });

    it('refuses a HubSpot app event, also inside n8n wrappers', () => {
      const event = { subscriptionType: 'contact.propertyChange', eventId: 1, portalId: 2, objectId: 5 };
      const { eventId: _, ...bySubscription } = { ...event, subscriptionId: 3 };
      for (const body of [event, bySubscription, [event], [event, event]])
        for (const sent of [body, { headers: {}, body }, [{ json: { headers: {}, body } }]])
          expect(() => read(sent, { model_id: 'm' }), JSON.stringify(sent)).to.throw(ApiError, 'HubSpot app event');
    });

    it('reads a record with fields called subscriptionType and subscriptionId', () => {
      const lead = { subscriptionType: 'yearly', subscriptionId: 'sub_1' };
      expect(withModel(lead).record).to.deep.equal(lead);
    });

    it('reads a record with fields called records, meta or current', () => {
      for (const lead of [{ records: ['a', 'b'] }, { records: [] }, { meta: {}, current: 5 }])
        expect(withModel(lead).record).to.deep.equal(lead);
    });

    it('leaves settings out of the record in every format', () => {
      const settings = { model_id: 'm', crm_id: 'L-1', explain: true };
      for (const body of [settings, { record: settings }, { properties: settings }, { inputFields: settings }])
        expect(read(body).record).to.deep.equal({});
    });
  });

  describe('model_id', () => {
    it('takes model_id from the body, then the record, then the query', () => {
      const query = { model_id: 'query' };
      expect(read({ model_id: 'top', record: { model_id: 'record' } }, query).modelId).to.equal('top');
      expect(read({ record: { model_id: 'record' } }, query).modelId).to.equal('record');
      expect(read({ record: {} }, query).modelId).to.equal('query');
    });

    it('takes model_id from an outer n8n wrapper before an inner one', () => {
      const json = { model_id: 'outside', headers: {}, body: { model_id: 'inside' } };
      expect(read(json).modelId).to.equal('outside');
      expect(read({ model_id: 'outermost', json }).modelId).to.equal('outermost');
    });

    it('treats a null or empty model_id as absent', () => {
      expect(read({ model_id: null, record: { model_id: '' } }, { model_id: 'm' }).modelId).to.equal('m');
      for (const model_id of [null, ''])
        expect(read({ model_id, headers: {}, body: { json: { model_id: 'm' } } }).modelId).to.equal('m');
      for (const query of [{}, { model_id: '' }])
        expect(() => read({ model_id: '' }, query)).to.throw(ApiError, 'model_id is missing: put it in the body');
    });
  });

  describe('explain', () => {
    const values: [unknown, boolean][] = [
      [true, true],
      ['true', true],
      ['1', true],
      [1, true],
      [false, false],
      ['false', false],
      ['0', false],
      ['True', true],
      [' FALSE ', false],
      [0, false],
    ];
    for (const [value, expected] of values) {
      it(`reads explain ${JSON.stringify(value)} as ${expected}`, () => {
        expect(withModel({ explain: value }).explain).to.equal(expected);
        if (typeof value === 'string') expect(read({ model_id: 'm' }, { explain: value }).explain).to.equal(expected);
      });
    }

    it('takes explain from the body, then the record, then the query, else false', () => {
      const query = { explain: '1' };
      expect(read({ model_id: 'm', explain: false, record: { explain: true } }, query).explain).to.equal(false);
      expect(read({ model_id: 'm', record: { explain: false } }, query).explain).to.equal(false);
      expect(read({ model_id: 'm', record: {} }, query).explain).to.equal(true);
      expect(read({ model_id: 'm' }).explain).to.equal(false);
    });

    it('refuses any other value of explain', () => {
      for (const explain of ['yes', '', 2, null, {}, [true], 'truee'])
        expect(() => withModel({ explain }), JSON.stringify(explain)).to.throw(ApiError, 'explain must be');
      const item = { explain: null, json: { model_id: 'm', explain: true } };
      expect(() => read(item), 'next to an n8n item').to.throw(ApiError, 'explain must be');
    });
  });

  describe('input_report', () => {
    it('takes it from the body, then the record, then the query, else asks for none', () => {
      const query = { input_report: 'records' };
      const reportIn = (body: unknown, inAddress = query) => read(body, inAddress).inputReport;
      expect(reportIn({ model_id: 'm', input_report: 'summary', record: { input_report: 'records' } })).to.equal(
        'summary',
      );
      expect(reportIn({ model_id: 'm', record: { input_report: 'summary' } })).to.equal('summary');
      expect(reportIn({ model_id: 'm', record: {} })).to.equal('records');
      expect(read({ model_id: 'm' }).inputReport).to.equal(undefined);
      expect(read({ model_id: 'm', input_report: 'summary', size: 1 }).record).to.deep.equal({ size: 1 });
    });

    it('refuses any other value', () => {
      for (const value of ['', 'all', 'Summary', true, 1, null, ['summary']])
        expect(() => withModel({ input_report: value }), JSON.stringify(value)).to.throw(
          ApiError,
          'input_report must be "summary" or "records"',
        );
    });
  });

  describe('crm_id', () => {
    const ids = { hs_object_id: 'a', vid: 'b', objectId: 'c', object: { objectId: 'd' }, Id: 'e', id: 'f' };

    it('takes crm_id unchanged from the top level, then the record, before any other id', () => {
      expect(withModel({ crm_id: 'top', record: { crm_id: 'record', ...ids } }).crmId).to.equal('top');
      expect(withModel({ record: { crm_id: 'record', ...ids }, ...ids }).crmId).to.equal('record');
      expect(withModel({ crm_id: ' L-1 ' }).crmId).to.equal(' L-1 ');
    });

    it('falls back to hs_object_id, vid, objectId, object.objectId, Id, id as crm_id, in this order', () => {
      const left: Record<string, unknown> = { ...ids };
      for (const [name, id] of Object.entries(ids)) {
        expect(withModel(left).crmId, name).to.equal(typeof id === 'string' ? id : id.objectId);
        delete left[name];
      }
      expect(withModel(left).crmId).to.equal(null);
    });

    it('takes a safe whole number as its digits', () => {
      for (const [crm_id, text] of [
        [0, '0'],
        [-5, '-5'],
        [9_007_199_254_740_991, '9007199254740991'],
      ] as const) {
        expect(withModel({ crm_id, id: 'x' }).crmId).to.equal(text);
        expect(withModel({ record: { crm_id } }).crmId).to.equal(text);
        expect(withModel({ json: { crm_id } }).crmId).to.equal(text);
      }
    });

    it('finds fallback ids in the record, HubSpot properties and Pipedrive data', () => {
      expect(withModel({ record: { Id: '00Q' } }).crmId).to.equal('00Q');
      expect(withModel({ vid: 1, properties: { hs_object_id: { value: '2' } } }).crmId).to.equal('2');
      expect(withModel({ meta: { id: 'event' }, data: { id: 3 } }).crmId).to.equal('3');
      expect(withModel({ callbackId: 'c', object: { objectId: 4 }, inputFields: {} }).crmId).to.equal('4');
    });

    it('converts a fallback id that is a safe integer to text, and ignores any other number', () => {
      expect(withModel({ vid: 9_007_199_254_740_991 }).crmId).to.equal('9007199254740991');
      for (const id of [9_007_199_254_740_992, 1e21, 1.5, Number.POSITIVE_INFINITY, true, {}, []])
        expect(withModel({ id }).crmId, String(id)).to.equal(null);
    });

    it('ignores a null or empty crm_id and invalid fallback ids', () => {
      for (const crm_id of [null, '']) {
        expect(withModel({ crm_id, id: 'x' }).crmId).to.equal('x');
        expect(withModel({ crm_id, json: { crm_id: 'x' } }).crmId).to.equal('x');
        expect(withModel({ crm_id, headers: {}, body: { id: 'x' } }).crmId).to.equal('x');
      }
      for (const id of ['', 'x'.repeat(256), 'a\0', '\ud800']) expect(withModel({ id, Id: id }).crmId).to.equal(null);
    });

    it('takes dealId and companyId from a body of HubSpot alone, after all other ids', () => {
      const deal = { dealId: 7, companyId: 8, properties: { size: '4' } };
      expect(withModel(deal).crmId).to.equal('7');
      expect(withModel({ companyId: 8, portalId: 1, size: 4 }).crmId).to.equal('8');
      expect(withModel({ companyId: 8, 'portal-id': 1, id: 'lead' }).crmId).to.equal('lead');
      expect(withModel({ companyId: 8, dealId: 7, size: 4 }).crmId, 'fields of a lead').to.equal(null);
    });

    it('takes a placeholder or a shortened number for no id, and echoes it if there is no other', () => {
      for (const crm_id of ['#N/A', 'NULL', 'n/a', '-', 'undefined', ' NaN ', '(blank)', '1.20214E+17']) {
        expect(withModel({ crm_id })).to.include({ crmId: null, echo: crm_id });
        expect(withModel({ crm_id, id: 'x' })).to.include({ crmId: 'x', echo: undefined });
        expect(withModel({ crm_id, json: { crm_id: 'x' } }).crmId).to.equal('x');
        expect(withModel({ hs_object_id: crm_id, Id: 'x' }).crmId).to.equal('x');
      }
    });

    it('refuses a crm_id that is not a valid text of at most 255 code points', () => {
      expect(withModel({ crm_id: '🦊'.repeat(255) }).crmId).to.have.length(510);
      for (const crm_id of ['🦊'.repeat(256), 'a\0', '\udc00', 1.5, 2 ** 53, true, {}, ['x']])
        expect(() => withModel({ crm_id })).to.throw(ApiError, /^crm_id (must|is a whole number beyond)/);
    });
  });

  it('reads callbackId only from a HubSpot custom action', () => {
    expect(withModel({ callbackId: 'c', inputFields: {} }).hubSpotCallbackId).to.equal('c');
    expect(withModel({ inputFields: {} }).hubSpotCallbackId).to.equal('');
    expect(withModel({ callbackId: 'c' }).hubSpotCallbackId).to.equal(undefined);
  });

  it('throws only ApiErrors with status 400 or 422, for any body', () => {
    const names = [
      ...['model_id', 'crm_id', 'explain', 'record', 'properties', 'inputFields', 'meta', 'data', 'value'],
      ...['custom_fields', 'object', 'objectId', 'values', 'json', 'body', 'headers', 'callbackId'],
      '__proto__',
    ];
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        fc.jsonValue({ maxDepth: 1 }),
        tie('object'),
        fc.array(tie('tree'), { maxLength: 2 }),
      ),
      object: fc.dictionary(fc.constantFrom(...names), tie('tree'), { maxKeys: 6 }),
    }));
    const property = fc.property(
      tree,
      fc.dictionary(fc.constantFrom('model_id', 'explain'), fc.string()),
      (body, query) => {
        try {
          const { modelId, crmId } = read(body, query);
          expect(modelId).to.be.a('string');
          if (crmId !== null) expect(crmId).to.be.a('string').and.not.equal('');
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          expect(error.entry.status).to.be.oneOf([400, 422]);
        }
      },
    );
    fc.assert(property, { numRuns: 2_000 });
  });
});
