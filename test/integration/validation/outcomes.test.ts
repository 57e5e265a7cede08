import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { dayMs } from '../../../shared/contract/dates.js';
import type { StoredOutcome } from '../../../shared/store/validation/outcomes.js';
import { type HttpReply, httpCall } from '../../support/http/http-call.js';
import { refused } from '../../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import type { UsableKey } from '../../support/service/workspace-parts.js';

const at = '2026-03-01T12:00:00Z';
const entry = { crm_id: 'L1', converted: true, at };

describe('POST /v1/outcomes', () => {
  let service: RunningService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });

  beforeEach(async () => {
    own = await workspace(service);
  });

  const post = (
    body: unknown,
    { key = own.live, headers }: { readonly key?: UsableKey; readonly headers?: Record<string, string> } = {},
  ): Promise<HttpReply> => httpCall(`${service.url()}/v1/outcomes`, { secret: key.secret, body, headers });

  const accepted = async (outcomes: readonly unknown[]): Promise<void> => {
    const reply = await post({ outcomes });
    expect(`${reply.status} ${reply.text}`).to.equal(`200 {"accepted":${outcomes.length}}`);
  };

  const stored = (): Promise<StoredOutcome[]> =>
    service.stores.database
      .collection<StoredOutcome>('outcomes')
      .find({ org: own.id })
      .sort({ crm_id: 1 })
      .toArray();

  it('takes down what became of leads, and needs no prediction of them', async () => {
    await accepted([entry, { crm_id: 'L2', converted: false, at: '2026-03-02' }]);
    const found = await stored();
    expect(
      found.map(({ crm_id, converted, at: when }) => [crm_id, converted, when.toISOString()]),
    ).to.deep.equal([
      ['L1', true, '2026-03-01T12:00:00.000Z'],
      ['L2', false, '2026-03-02T00:00:00.000Z'],
    ]);
  });

  it('the newest word on a lead wins, whichever date it names, also within a call', async () => {
    await accepted([entry]);
    await accepted([{ ...entry, at: '2026-01-15' }]);
    expect((await stored()).map((outcome) => outcome.at.toISOString())).to.deep.equal([
      '2026-01-15T00:00:00.000Z',
    ]);
    await accepted([entry, { ...entry, converted: false, at: '2025-12-01' }]);
    expect((await stored()).map(({ converted }) => converted)).to.deep.equal([false]);
  });

  it('changes nothing when it is sent again', async () => {
    await accepted([entry, { ...entry, crm_id: 'L2', converted: false }]);
    const before = await stored();
    await accepted([entry, { ...entry, crm_id: 'L2', converted: false, at: '2026-04-01' }]);
    expect(await stored()).to.deep.equal(before);
  });

  it('is kept apart by organisation', async () => {
    const other = await workspace(service);
    await accepted([entry]);
    await post({ outcomes: [{ ...entry, converted: false }] }, { key: other.live });
    expect((await stored()).map(({ converted }) => converted)).to.deep.equal([true]);
  });

  it('keeps nothing of a test key', async () => {
    const reply = await post({ outcomes: [entry] }, { key: own.test });
    expect(`${reply.status} ${reply.text}`).to.equal('200 {"accepted":1,"test":true}');
    expect(await stored()).to.deep.equal([]);
  });

  it('is free of charge, and has the reading rate in its headers', async () => {
    const slow = await workspace(service, { rate: 7 });
    const reply = await post({ outcomes: [entry] }, { key: slow.live });
    expect(reply.headers.get('ratelimit-policy')).to.equal('"key";q=70;w=1');
    expect(await slow.ledgerRows()).to.deep.equal([]);
    expect(await slow.redisUsage()).to.deep.equal({ used: 0, leased: 0 });
  });

  it('works in a workspace that is read-only, on the Free plan, and past the quota', async () => {
    const past = new Date(service.clock.now() - 1000);
    for (const options of [{ plan: 'trial', trialEndsAt: past }, { plan: 'free' }, { limit: 0 }] as const) {
      const poor = await workspace(service, options);
      expect((await post({ outcomes: [entry] }, { key: poor.live })).status).to.equal(200);
    }
  });

  it('reads gzip, and takes a thousand', async () => {
    const outcomes = Array.from({ length: 1000 }, (_, index) => ({ ...entry, crm_id: `L${index}` }));
    const packed = gzipSync(JSON.stringify({ outcomes }));
    const reply = await fetch(`${service.url()}/v1/outcomes`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${own.live.secret}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
      body: packed,
    });
    expect(await reply.json()).to.deep.equal({ accepted: 1000 });
    expect(await stored()).to.have.length(1000);
  });

  it('names of odd leads are kept as they are', async () => {
    const odd = ['$where', '$$NOW', 'a.b', ' L1 ', '日本', 'x'.repeat(255), '__proto__'];
    await accepted(odd.map((crm_id) => ({ ...entry, crm_id })));
    expect((await stored()).map(({ crm_id }) => crm_id)).to.have.members(odd);
  });

  describe('refuses the whole call for one bad entry, and names it', () => {
    const cases: readonly [title: string, bad: unknown, as: `${number} ${string}`, names: string][] = [
      ['no crm_id', { converted: true, at }, '422 bad_request', 'outcomes[1].crm_id'],
      ['an empty crm_id', { ...entry, crm_id: '' }, '422 bad_request', 'outcomes[1].crm_id'],
      ['a crm_id that is a number', { ...entry, crm_id: 7 }, '422 bad_request', 'outcomes[1].crm_id'],
      ['a long crm_id', { ...entry, crm_id: 'x'.repeat(256) }, '422 bad_request', 'outcomes[1].crm_id'],
      ['converted as a text', { ...entry, converted: 'yes' }, '422 bad_request', 'outcomes[1].converted'],
      ['no converted', { crm_id: 'L2', at }, '422 bad_request', 'outcomes[1].converted'],
      ['no at', { crm_id: 'L2', converted: false }, '422 bad_request', 'outcomes[1].at'],
      ['at as a number', { ...entry, at: 1_767_000_000 }, '422 bad_request', 'outcomes[1].at'],
      ['at that is no date', { ...entry, at: 'yesterday' }, '400 bad_request', 'outcomes[1].at'],
      ['a day that no month has', { ...entry, at: '2026-02-30' }, '400 bad_request', 'outcomes[1].at'],
      [
        'a day before 1970',
        { ...entry, at: '1900-01-01' },
        '400 bad_request',
        'outcomes[1].at must be an ISO 8601 date or date and time of the years 1970 to 2100',
      ],
      ['at with half a surrogate pair', { ...entry, at: '\ud800' }, '400 bad_request', 'but is "\ufffd"'],
      ['an entry that is no object', 'L2', '422 bad_request', 'outcomes[1]'],
      ['null', null, '422 bad_request', 'outcomes[1]'],
    ];
    for (const [title, bad, as, names] of cases) {
      it(title, async () => {
        const { error } = refused(await post({ outcomes: [entry, bad] }), as);
        expect(error.message).to.include(names);
        expect(await stored()).to.deep.equal([]);
      });
    }
  });

  it('refuses a conversion more than 180 days ahead, and takes nearer ones: a grade of then may be rehearsed', async () => {
    const inDays = (days: number) => new Date(service.clock.now() + days * dayMs).toISOString();
    for (const [tooFar, shown] of [
      [inDays(181), inDays(181).slice(0, 10)],
      [inDays(366).slice(0, 10), inDays(366).slice(0, 10)],
    ] as const) {
      const { error } = refused(
        await post({ outcomes: [entry, { ...entry, at: tooFar }] }),
        '400 bad_request',
      );
      expect(error.message)
        .to.include('outcomes[1].at must not be more than 180 days ahead for a lead that has converted')
        .and.include(shown);
    }
    expect(await stored()).to.deep.equal([]);
    await accepted([
      { ...entry, at: inDays(179) },
      { crm_id: 'open', converted: false, at: inDays(366) },
    ]);
  });

  it('refuses what is no such call', async () => {
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
    refused(
      await post(JSON.stringify({ outcomes: [entry] }), { headers: { 'content-type': 'text/plain' } }),
      '422 bad_request',
    );
    refused(
      await httpCall(`${service.url()}/v1/outcomes`, { body: { outcomes: [entry] } }),
      '401 invalid_api_key',
    );
    refused(
      await httpCall(`${service.url()}/v1/outcomes`, { method: 'GET', secret: own.live.secret }),
      '405 method_not_allowed',
    );
  });
});
