import { expect } from 'chai';
import { dayMs } from '../../../shared/contract/dates.js';
import { outcomeId, type StoredOutcome } from '../../../shared/store/validation/outcomes.js';
import type { HttpReply } from '../../support/http/http-call.js';
import { refused } from '../../support/http/score-reply.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace, workspace } from '../../support/service/workspace.js';

const path = '/v1/outcomes';
const at = '2026-03-01T12:00:00Z';
const entry = { crm_id: 'L1', converted: true, at };

describe('4xx of POST /v1/outcomes', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  }, 'twoGateways');

  const post = (body: unknown, headers?: Record<string, string>): Promise<HttpReply> =>
    own.call(path, { body, ...(headers === undefined ? {} : { headers }) });

  const expectNothingStored = async (): Promise<void> => {
    const stored = service.stores.database.collection('outcomes').countDocuments({ org: own.id });
    expect(await stored).to.equal(0);
  };

  describe('one bad entry', () => {
    const cases: readonly [name: string, bad: unknown, as: `${number} ${string}`, says: string][] = [
      ['a missing crm_id', { converted: true, at }, '422 bad_request', 'outcomes[1].crm_id'],
      ['an empty crm_id', { ...entry, crm_id: '' }, '422 bad_request', 'outcomes[1].crm_id'],
      [
        'a whole number of 2^53 as crm_id',
        { ...entry, crm_id: 2 ** 53 },
        '422 bad_request',
        'outcomes[1].crm_id is a whole number beyond 2^53',
      ],
      ['a long crm_id', { ...entry, crm_id: 'x'.repeat(256) }, '422 bad_request', 'outcomes[1].crm_id'],
      ['a placeholder as crm_id', { ...entry, crm_id: 'n/a' }, '400 bad_request', 'outcomes[1].crm_id is "n/a", which'],
      ['NULL as crm_id', { ...entry, crm_id: 'NULL' }, '400 bad_request', 'stands for a missing value'],
      ['a blank crm_id', { ...entry, crm_id: ' ' }, '400 bad_request', 'outcomes[1].crm_id'],
      [
        'a shortened number as crm_id',
        { ...entry, crm_id: '1.20214E+17' },
        '400 bad_request',
        'outcomes[1].crm_id is "1.20214E+17", a number that a spreadsheet has shortened',
      ],
      ['a string as converted', { ...entry, converted: 'yes' }, '422 bad_request', 'outcomes[1].converted'],
      ['a missing converted', { crm_id: 'L2', at }, '422 bad_request', 'outcomes[1].converted'],
      [
        'a number as at',
        { ...entry, at: 1_767_000_000 },
        '422 bad_request',
        'outcomes[1].at must be of type string or null',
      ],
      ['an at that is not a date', { ...entry, at: 'yesterday' }, '400 bad_request', 'outcomes[1].at'],
      ['an at on February 30', { ...entry, at: '2026-02-30' }, '400 bad_request', 'outcomes[1].at'],
      [
        'an at before 1970',
        { ...entry, at: '1900-01-01' },
        '400 bad_request',
        'outcomes[1].at must be an ISO 8601 date or date and time of the years 1970 to 2100',
      ],
      ['an at with a lone surrogate', { ...entry, at: '\ud800' }, '400 bad_request', 'but is "\ufffd"'],
      ['a string as the entry', 'L2', '422 bad_request', 'outcomes[1]'],
      ['null as the entry', null, '422 bad_request', 'outcomes[1]'],
    ];
    for (const [name, bad, as, says] of cases) {
      it(`returns ${as} for ${name} in one entry, and stores none of the others`, async () => {
        const { error } = refused(await post({ outcomes: [entry, bad] }), as);
        expect(error.message).to.include(says);
        await expectNothingStored();
      });
    }
  });

  it('returns 400 for a conversion more than 180 days ahead, and 200 for a nearer one', async () => {
    const inDays = (days: number) => new Date(service.clock.now() + days * dayMs).toISOString();
    for (const [tooFar, shown] of [
      [inDays(181), inDays(181).slice(0, 10)],
      [inDays(366).slice(0, 10), inDays(366).slice(0, 10)],
    ] as const) {
      const { error } = refused(await post({ outcomes: [entry, { ...entry, at: tooFar }] }), '400 bad_request');
      expect(error.message)
        .to.include('outcomes[1].at must not be more than 180 days ahead for a lead that has converted')
        .and.include(shown);
    }
    await expectNothingStored();
    const outcomes = [
      { ...entry, at: inDays(179) },
      { crm_id: 'open', converted: false, at: inDays(366) },
    ];
    const reply = await post({ outcomes });
    expect(reply.status).to.equal(200);
    expect(JSON.parse(reply.text)).to.include({ accepted: 2 });
  });

  it('returns 400 for a new lead above the limit, and 200 for a known one and under a larger plan', async () => {
    const { database } = service.stores;
    own = await workspace(service, { limit: 0 });
    const stored = Array.from({ length: 9_999 }, (_, lead) => ({
      ...{ _id: outcomeId(own.id, `S${lead}`), org: own.id, crm_id: `S${lead}`, converted: false },
      ...{ at: new Date(at), received_at: new Date(at), changed_at: new Date(at) },
    }));
    await database.collection<StoredOutcome>('outcomes').insertMany(stored);
    const count = () => database.collection('outcomes').countDocuments({ org: own.id });
    const outcomes = [entry, { ...entry, crm_id: 'L2' }];
    for (const gateway of [0, 1]) {
      const { error } = refused(await own.call(path, { body: { outcomes }, gateway }), '400 bad_request');
      expect(error.message).to.include('outcomes of 10000 leads').and.include('No outcome of the call was recorded');
    }
    expect(await count()).to.equal(9_999);
    const known = [{ ...entry, crm_id: 'S1' }, { ...entry, crm_id: 'S2' }, entry];
    expect((await own.call(path, { body: { outcomes: known }, gateway: 0 })).status).to.equal(200);
    expect(await count()).to.equal(10_000);

    await own.change({ limit: 10_000 });
    const gateway = await service.startGateway();
    expect((await own.call(path, { body: { outcomes }, url: gateway.url })).status).to.equal(200);
    expect(await count()).to.equal(10_001);
    await gateway.stop();
  });

  it('returns 400 or 422 for another body', async () => {
    const cases: readonly [body: unknown, as: `${number} ${string}`][] = [
      [{ outcomes: [] }, '400 bad_request'],
      [{ outcomes: Array.from({ length: 1001 }, () => entry) }, '400 bad_request'],
      [{ outcomes: [{ ...entry, seen: Array.from({ length: 100_000 }, () => 1) }] }, '400 bad_request'],
      [{}, '422 bad_request'],
      [{ outcomes: {} }, '422 bad_request'],
      [[entry], '422 bad_request'],
      ['', '422 bad_request'],
      ['{"outcomes":[', '422 bad_request'],
    ];
    for (const [body, as] of cases) refused(await post(body), as);
  });

  it('returns 422 for JSON with an option of a file in the address, which would not be read', async () => {
    const reply = await own.call(`${path}?others_lost=true`, { body: { outcomes: [entry] } });
    expect(refused(reply, '422 bad_request').error.message).to.equal(
      'This call has JSON, and others_lost is an option of a file: take it out of the address.',
    );
    await expectNothingStored();
  });

  it('returns 422 for Content-Type text/plain', async () => {
    const body = JSON.stringify({ outcomes: [entry] });
    refused(await post(body, { 'content-type': 'text/plain' }), '422 bad_request');
  });

  it('returns 401 without a key', async () => {
    refused(await own.call(path, { key: null, body: { outcomes: [entry] } }), '401 invalid_api_key');
  });

  it('returns 405 to GET', async () => {
    refused(await own.call(path), '405 method_not_allowed');
  });
});
