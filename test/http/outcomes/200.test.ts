import { gzipSync } from 'node:zlib';
import { Queue } from 'bullmq';
import { expect } from 'chai';
import { gradingQueueName } from '../../../shared/messages/grading-job.js';
import { queuePrefix } from '../../../shared/redis/keys.js';
import { OutcomeStore, type StoredOutcome } from '../../../shared/store/validation/outcomes.js';
import { eventually } from '../../support/eventually.js';
import { type HttpReply, httpCall } from '../../support/http/http-call.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace, workspace } from '../../support/service/workspace.js';
import type { UsableKey } from '../../support/service/workspace-parts.js';

const at = '2026-03-01T12:00:00Z';
const entry = { crm_id: 'L1', converted: true, at };

describe('200 of POST /v1/outcomes', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  });

  const post = (
    body: unknown,
    { key = own.live, headers }: { readonly key?: UsableKey; readonly headers?: Record<string, string> } = {},
  ): Promise<HttpReply> => httpCall(`${service.url()}/v1/outcomes`, { secret: key.secret, body, headers });

  const accepted = async (outcomes: readonly unknown[]): Promise<void> => {
    const reply = await post({ outcomes });
    expect(reply.status, reply.text).to.equal(200);
    expect(JSON.parse(reply.text)).to.include({ accepted: outcomes.length });
  };

  const stored = (): Promise<StoredOutcome[]> =>
    service.stores.database.collection<StoredOutcome>('outcomes').find({ org: own.id }).sort({ crm_id: 1 }).toArray();

  it('stores outcomes, also of leads without a prediction', async () => {
    await accepted([entry, { crm_id: 'L2', converted: false, at: '2026-03-02' }]);
    const found = await stored();
    expect(found.map(({ crm_id, converted, at: when }) => [crm_id, converted, when.toISOString()])).to.deep.equal([
      ['L1', true, '2026-03-01T12:00:00.000Z'],
      ['L2', false, '2026-03-02T00:00:00.000Z'],
    ]);
  });

  it('says how many leads have a stored score and how many entries repeat, with an example of each side', async () => {
    const lead = { company_size: 5 };
    const other = await own.addModel({ bundle: sampleBundle({ version: '9' }) });
    await own.score([
      { ...lead, crm_id: '00Q5g00000ABcDe' },
      { ...lead, crm_id: 'B-1' },
    ]);
    await own.score([{ ...lead, crm_id: 'B-2' }], { modelId: other._id });
    const ids = ['00Q5g00000ABcDeEAL', 'A-1', 'B-1', 'B-2', 'b-1', 'A-1', '00Q5g00000ABcDe'];
    const send = async (crmIds: readonly string[], key = own.live) => {
      const outcomes = crmIds.map((crm_id) => ({ ...entry, crm_id }));
      const reply = await post({ outcomes }, { key });
      expect(reply.status, reply.text).to.equal(200);
      return JSON.parse(reply.text);
    };
    expect(await send(ids)).to.deep.equal({
      ...{ accepted: 7, known: 3, unknown: 2, repeated: 2 },
      ...{ unknown_example: 'A-1', scored_example: 'B-1' },
    });
    expect(await send(['z'])).to.include({ unknown_example: 'z', scored_example: '00Q5g00000ABcDe' });
    expect(await send(['B-1'])).to.deep.equal({ accepted: 1, known: 1, unknown: 0, repeated: 0 });
    const elsewhere = await workspace(service);
    expect(await send(['B-1'], elsewhere.live), 'of another organisation').to.deep.equal({
      ...{ accepted: 1, known: 0, unknown: 1, repeated: 0 },
      unknown_example: 'B-1',
    });
  });

  it('dates a conversion without at by its first report, and ignores at of a lead that has not converted', async () => {
    const nowMs = service.clock.now();
    const undated = [undefined, null, ''].map((none, index) => ({ crm_id: `U${index}`, converted: true, at: none }));
    const open = ['soon', '', null, '2999-01-01', '1900-01-01'].map((text, index) => ({
      ...{ crm_id: `V${index}`, converted: false, at: text },
    }));
    await accepted([...undated, ...open]);
    const first = await stored();
    expect(first).to.have.length(8);
    for (const { at: when } of first) expect(when.getTime()).to.be.within(nowMs - 60_000, nowMs + 60_000);
    await accepted(undated);
    expect(await stored()).to.deep.equal(first);
  });

  it('keeps the last outcome sent for a lead, and of its conversions the earliest, also within a call', async () => {
    await accepted([entry]);
    await accepted([{ ...entry, at: '2026-01-15' }]);
    const dates = async () => (await stored()).map((outcome) => outcome.at.toISOString().slice(0, 10));
    expect(await dates()).to.deep.equal(['2026-01-15']);
    await accepted([entry]);
    expect(await dates(), 'won again').to.deep.equal(['2026-01-15']);
    await accepted([
      { ...entry, at: '2026-01-10' },
      { ...entry, at: '2026-01-02' },
      entry,
      { crm_id: 'L1', converted: true },
    ]);
    expect(await dates(), 'the earliest of a call').to.deep.equal(['2026-01-02']);
    await accepted([entry, { ...entry, converted: false, at: '2025-12-01' }]);
    expect((await stored()).map(({ converted }) => converted)).to.deep.equal([false]);
    await accepted([entry]);
    expect(await dates(), 'corrected in two calls').to.deep.equal(['2026-03-01']);
  });

  it('stores a thousand outcomes in several writes, the last one of a lead among all', async () => {
    const outcomes = Array.from({ length: 1_000 }, (_, index) => ({ ...entry, crm_id: `L${index % 900}` }));
    outcomes[950] = { ...entry, crm_id: 'L50', converted: false };
    await accepted(outcomes);
    const found = await stored();
    expect(found).to.have.length(900);
    // By MongoDB's clock, which gives all documents of a write the same time.
    expect(new Set(found.map(({ changed_at }) => changed_at.getTime())), 'writes').to.have.property('size', 9);
    expect(found.filter(({ converted }) => !converted).map(({ crm_id, previous }) => [crm_id, previous])).to.deep.equal(
      [['L50', undefined]],
    );
  });

  it('asks for a grade of the organisation a minute later, but not if nothing has changed', async () => {
    const grading = new Queue(gradingQueueName, { connection: service.redis, prefix: queuePrefix });
    const delayed = async () =>
      (await grading.getDelayed()).filter(({ data }) => data.organisationId === own.id).map(({ delay }) => delay);
    try {
      await accepted([entry]);
      await eventually(async () => expect(await delayed()).to.deep.equal([60_000]));
      const other = await workspace(service);
      const { database } = service.stores;
      await new OutcomeStore(database).record({
        organisationId: other.id,
        outcomes: [{ crmId: 'L1', converted: true, at: new Date(at) }],
        receivedAt: new Date(),
      });
      expect((await post({ outcomes: [entry] }, { key: other.live })).status).to.equal(200);
      await accepted([{ ...entry, crm_id: 'L2' }]);
      const jobs = (await grading.getDelayed()).map(({ data }) => data.organisationId);
      expect(jobs).to.include(own.id).and.not.include(other.id);
    } finally {
      await grading.close();
    }
  });

  it('changes nothing when the same outcomes are sent again', async () => {
    await accepted([entry, { ...entry, crm_id: 'L2', converted: false }]);
    const before = await stored();
    await accepted([entry, { ...entry, crm_id: 'L2', converted: false, at: '2026-04-01' }]);
    expect(await stored()).to.deep.equal(before);
  });

  it('keeps the outcomes of organisations apart', async () => {
    const other = await workspace(service);
    await accepted([entry]);
    await post({ outcomes: [{ ...entry, converted: false }] }, { key: other.live });
    expect((await stored()).map(({ converted }) => converted)).to.deep.equal([true]);
  });

  it('returns test: true to a test key, and stores nothing', async () => {
    const reply = await post({ outcomes: [entry] }, { key: own.test });
    expect(`${reply.status} ${reply.text}`).to.equal('200 {"accepted":1,"test":true}');
    expect(await stored()).to.deep.equal([]);
  });

  it('counts no records, and returns the rate of scoring in its headers', async () => {
    const slow = await workspace(service, { rate: 7 });
    const reply = await post({ outcomes: [entry] }, { key: slow.live });
    expect(reply.headers.get('ratelimit-policy')).to.equal('"key";q=7;w=1');
    expect(await slow.ledgerRows()).to.deep.equal([]);
    expect(await slow.redisUsage()).to.deep.equal({ used: 0, leased: 0 });
  });

  it('returns 200 after a trial, on the Free plan and past the quota', async () => {
    const past = new Date(service.clock.now() - 1000);
    for (const options of [{ plan: 'trial', trialEndsAt: past }, { plan: 'free' }, { limit: 0 }] as const) {
      const poor = await workspace(service, options);
      expect((await post({ outcomes: [entry] }, { key: poor.live })).status).to.equal(200);
    }
  });

  it('accepts a thousand outcomes in a gzip body', async () => {
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
    expect(await reply.json()).to.deep.equal({
      ...{ accepted: 1000, known: 0, unknown: 1000, repeated: 0 },
      unknown_example: 'L0',
    });
    expect(await stored()).to.have.length(1000);
  });

  it('stores odd crm_ids unchanged', async () => {
    const odd = ['$where', '$$NOW', 'a.b', ' L1 ', '日本', 'x'.repeat(255), '__proto__'];
    await accepted(odd.map((crm_id) => ({ ...entry, crm_id })));
    expect((await stored()).map(({ crm_id }) => crm_id)).to.have.members(odd);
  });
});
