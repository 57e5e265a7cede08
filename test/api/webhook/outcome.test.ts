import { expect } from 'chai';
import { parseWebhookBody } from '../../../api/webhook/body.js';
import { readOutcomeWebhook } from '../../../api/webhook/outcome.js';
import { readWebhook } from '../../../api/webhook/request.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { callOf, readToolFixtures } from '../../support/http/tool-fixture.js';

const inAddress = (query: Readonly<Record<string, string>>) => (name: string) => query[name];
const read = (body: unknown, query: Readonly<Record<string, string>> = {}) =>
  readOutcomeWebhook(body, inAddress(query));

const refusalOf = (body: unknown, query: Readonly<Record<string, string>> = {}): string => {
  try {
    read(body, query);
  } catch (error) {
    if (error instanceof ApiError) return `${error.errorName}: ${error.message}`;
    throw error;
  }
  throw new Error('the body was read');
};

describe('readOutcomeWebhook', () => {
  for (const { name, fixture } of readToolFixtures()) {
    const { expected } = fixture;
    if ('refused' in expected) continue;
    it(`finds in ${name} the id that POST /v1/webhooks/score finds, and a field of its record`, async () => {
      const call = callOf(fixture, { modelId: 'mdl_1', secret: 'key' });
      const type = new Headers(call.headers).get('content-type') ?? '';
      const form = { isForm: type.includes('form'), encoding: 'utf-8' } as const;
      const body = await parseWebhookBody(Buffer.from(String(call.body)), form);
      const { record } = readWebhook(body, inAddress({ model_id: 'mdl_1' }), []);
      const [field = '', value] = Object.entries(record).find(([, each]) => typeof each === 'string') ?? [];
      expect(value).to.be.a('string');
      const found = read(body, { outcome_field: field });
      expect(found).to.include({ sentId: expected.crm_id, outcome: String(value).trim() });
      expect(found.isHubSpotAction).to.equal(expected.outputFields === true);
    });
  }

  it('reads outcome and date beside the record and in it, in each format', () => {
    const members = { outcome: 'Closed Won', at: '2026-03-01' };
    const bodies: readonly unknown[] = [
      { crm_id: 'L-1', ...members },
      { crm_id: 'L-1', record: members },
      { crm_id: 'L-1', ...members, record: { outcome: 'lost' } },
      { object: { objectId: 'L-1' }, callbackId: 'c', inputFields: members },
      { vid: 'L-1', properties: { outcome: { value: 'Closed Won' }, at: { value: '2026-03-01' } } },
      { meta: { version: '2.0' }, data: { id: 'L-1', ...members } },
      [{ json: { id: 'L-1' }, ...members }],
      { headers: {}, body: { Id: 'L-1', ...members } },
    ];
    for (const body of bodies) expect(read(body), JSON.stringify(body)).to.deep.include({ crmId: 'L-1', ...members });
  });

  it('reads the fields that the address names, unless the body has outcome and at', () => {
    const query = { outcome_field: 'status', at_field: 'won_time' };
    const data = { id: 7, status: 'won', won_time: '2026-03-01 10:00:00' };
    expect(read({ meta: {}, data }, query)).to.deep.include({ outcome: 'won', at: '2026-03-01 10:00:00' });
    expect(read({ meta: {}, data: { ...data, won_time: null } }, query)).to.include({ outcome: 'won', at: undefined });
    expect(read({ crm_id: 'L', outcome: 'lost', status: 'won' }, query)).to.include({ outcome: 'lost' });
    expect(refusalOf({ crm_id: 'L' }, query)).to.equal(
      'unreadableRequest: The record has no field "status", which the address names as its outcome.',
    );
  });

  it('reads booleans, numbers and empty values, and milliseconds as a date', () => {
    const outcomes = [true, 0, ' won ', '', null].map((outcome) => read({ crm_id: 'L', outcome }).outcome);
    expect(outcomes).to.deep.equal(['true', '0', 'won', '', '']);
    for (const at of [1_772_323_200_000, '1772323200000'])
      expect(read({ crm_id: 'L', outcome: 1, at })).to.include({ at: '2026-03-01T00:00:00.000Z' });
  });

  it('refuses a body without id or outcome, and says how to send them', () => {
    expect(refusalOf({ outcome: 'won' })).to.include('unreadableRequest: crm_id is missing');
    expect(refusalOf({ crm_id: 'NULL', outcome: 'won' })).to.include('crm_id is "NULL", which stands for');
    expect(refusalOf({ crm_id: 'L' }))
      .to.include('outcome is missing')
      .and.include('?outcome_field=');
    expect(refusalOf({ crm_id: 'L', outcom: 'won' })).to.include('rename "outcom" to "outcome"');
    expect(refusalOf({ crm_id: 'L', outcome: ['won'] })).to.include('outcome must be a text');
    expect(refusalOf({ crm_id: 'L', outcome: 'x'.repeat(256) })).to.include('at most 255 characters');
    for (const at of [{}, false])
      expect(refusalOf({ crm_id: 'L', outcome: 'lost', at })).to.include('at must be a text or a number');
    expect(refusalOf('won')).to.include('The body must be an object');
  });
});
