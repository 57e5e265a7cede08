import { expect } from 'chai';
import type { StoredOutcome } from '../../../shared/store/validation/outcomes.js';
import { eventually } from '../../support/eventually.js';
import { httpCall } from '../../support/http/http-call.js';
import { refused } from '../../support/http/score-reply.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace, workspace } from '../../support/service/workspace.js';
import type { UsableKey } from '../../support/service/workspace-parts.js';

const path = '/v1/webhooks/outcome';

describe('POST /v1/webhooks/outcome', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  });

  const report = async (
    body: unknown,
    {
      of = own,
      query = '',
      key,
    }: { readonly of?: TestWorkspace; readonly query?: string; readonly key?: UsableKey } = {},
  ) => {
    const { secret } = key ?? of.live;
    const reply = await httpCall(`${service.url()}${path}${query}`, { secret, body });
    expect(reply.status, reply.text).to.equal(200);
    return JSON.parse(reply.text);
  };
  const stored = async (of = own) => {
    const found = service.stores.database.collection<StoredOutcome>('outcomes').find({ org: of.id });
    return (await found.sort({ crm_id: 1 }).toArray()).map(({ crm_id, converted, at }) => [
      crm_id,
      converted,
      at.toISOString(),
    ]);
  };
  const neither = (value: string) =>
    `${JSON.stringify(value)} means neither won nor lost, so nothing was stored. If it should, add it to won_values or lost_values of the organisation.`;

  it('stores a usual word under the id of the score, and answers with its meaning', async () => {
    await own.score([{ company_size: 5, crm_id: '00Q5g00000ABcDe' }]);
    const won = { Id: '00Q5g00000ABcDeEAL', outcome: 'Won', at: '2026-03-01' };
    expect(await report(won)).to.deep.equal({
      ...{ crm_id: '00Q5g00000ABcDeEAL', outcome: 'Won', converted: true, stored: true },
    });
    expect(await stored()).to.deep.equal([['00Q5g00000ABcDe', true, '2026-03-01T00:00:00.000Z']]);
    const at = '2026-02-01';
    expect(await report({ ...won, at })).to.include({ stored: true });
    expect((await stored())[0]?.[2], 'the earliest conversion').to.equal('2026-02-01T00:00:00.000Z');
    expect(await report({ ...won, outcome: 'lost', at: 'soon' })).to.include({ converted: false, stored: true });
    expect((await stored())[0]?.[1]).to.equal(false);
  });

  it('names a scored lead if the lead of the outcome has no score', async () => {
    const first = await report({ crm_id: 'L-1', outcome: 'won' });
    expect(first.notices).to.have.length(1);
    expect(first.notices[0]).to.match(/^No lead has a stored score under this crm_id\..+scored under it\.$/);
    await own.score([{ company_size: 5, crm_id: 'L-2' }]);
    const { notices } = await report({ crm_id: 'L-1', outcome: 'won' });
    expect(notices[0]).to.include('A lead with a score is "L-2".');
    const other = await workspace(service);
    const elsewhere = await report({ crm_id: 'L-2', outcome: 'won' }, { of: other });
    expect(elsewhere.notices[0], 'of another organisation').to.not.include('A lead with a score');
  });

  it('reads the values of the settings of the organisation, and stores a stage that is in none as nothing', async () => {
    const other = await workspace(service);
    await own.change({ won_values: ['Closed Won', 'closedwon'], lost_values: ['Closed Lost', 'open'] });
    await eventually(async () =>
      expect(await report({ crm_id: 'L-1', outcome: 'closed won ' })).to.include({ converted: true, stored: true }),
    );
    expect(await report({ crm_id: 'L-2', outcome: 'Closed Lost' })).to.include({ converted: false, stored: true });
    expect(await report({ crm_id: 'L-3', outcome: 'won' }), 'a usual word').to.include({ converted: true });
    expect(await report({ crm_id: 'L-4', outcome: 'Negotiation' })).to.deep.equal({
      ...{ crm_id: 'L-4', outcome: 'Negotiation', converted: null, stored: false },
      notices: [neither('Negotiation')],
    });
    expect((await report({ crm_id: 'L-4', outcome: null })).notices[0]).to.match(/^An empty outcome means neither/);
    expect((await stored()).map(([crmId, converted]) => [crmId, converted])).to.deep.equal([
      ['L-1', true],
      ['L-2', false],
      ['L-3', true],
    ]);
    const elsewhere = await report({ crm_id: 'L-1', outcome: 'Closed Won' }, { of: other });
    expect(elsewhere, 'settings of another organisation').to.include({ converted: null, stored: false });
    expect(await stored(other)).to.deep.equal([]);
  });

  it('answers a custom action of HubSpot with outputFields, and reads the fields that the address names', async () => {
    const action = { callbackId: 'c-1', object: { objectId: 51 }, inputFields: { outcome: 'lost' } };
    const { outputFields, notices, ...flat } = await report(action);
    expect(notices).to.have.length(1);
    expect(outputFields).to.deep.equal({ ...flat, hs_execution_state: 'SUCCESS' });
    expect(flat).to.deep.equal({ crm_id: '51', outcome: 'lost', converted: false, stored: true });
    const event = { meta: { version: '2.0' }, data: { id: 42, status: 'won', won_time: '2026-03-01T10:00:00Z' } };
    const query = '?outcome_field=status&at_field=won_time';
    expect(await report(event, { query })).to.include({ crm_id: '42', converted: true });
    expect((await stored())[0]).to.deep.equal(['42', true, '2026-03-01T10:00:00.000Z']);
  });

  it('takes the key as other webhooks do, and stores nothing for a test key', async () => {
    const body = { crm_id: 'L-1', outcome: 'won' };
    const basic = Buffer.from(`${own.live.secret}:`).toString('base64');
    for (const headers of [{ 'x-api-key': own.live.secret }, { authorization: `Basic ${basic}` }])
      expect((await httpCall(service.url() + path, { headers, body })).status).to.equal(200);
    const form = { 'x-api-key': own.live.secret, 'content-type': 'application/x-www-form-urlencoded' };
    const sent = await httpCall(service.url() + path, { headers: form, body: 'contact[id]=L-2&outcome=lost' });
    expect(JSON.parse(sent.text)).to.include({ crm_id: 'L-2', converted: false, stored: true });
    const tested = await report({ crm_id: 'L-3', outcome: 'won' }, { key: own.test });
    expect(tested).to.deep.equal({ crm_id: 'L-3', outcome: 'won', converted: true, stored: false, test: true });
    expect((await stored()).map(([crmId]) => crmId)).to.deep.equal(['L-1', 'L-2']);
  });

  it('refuses a report without id or outcome, and with another date', async () => {
    const send = (body: unknown) => own.call(path, { body });
    expect(refused(await send({ outcome: 'won' }), '422 bad_request').error.message).to.include('crm_id is missing');
    expect(refused(await send({ crm_id: 'L' }), '422 bad_request').error.message).to.include('outcome is missing');
    const date = refused(await send({ crm_id: 'L', outcome: 'won', at: 'soon' }), '400 bad_request');
    expect(date.error.message).to.match(/^at must be an ISO 8601 date.+but is "soon"\.$/);
    refused(await httpCall(service.url() + path, { body: { crm_id: 'L', outcome: 'won' } }), '401 invalid_api_key');
    expect(await stored()).to.deep.equal([]);
  });
});
