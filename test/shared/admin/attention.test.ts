import { expect } from 'chai';
import { profiledQueries } from '../../../scripts/bench/console/profiled-queries.js';
import { showAttention } from '../../../shared/admin/attention/show-attention.js';
import { createOrganisation } from '../../../shared/admin/organisations/change-organisations.js';
import { revokeKey, setKey } from '../../../shared/admin/organisations/key-actions.js';
import { dayMs } from '../../../shared/contract/dates.js';
import { CallDayStore, dayOf } from '../../../shared/store/console/call-days.js';
import { ModelStore } from '../../../shared/store/models/models.js';
import { type AdminDesk, adminDesk, personOf } from '../../support/admin/admin-desk.js';
import {
  addKey,
  type TroubledOrganisation,
  troubledOrganisation,
  useLimit,
} from '../../support/admin/troubles/troubled-organisation.js';

describe('the troubles of an organisation', () => {
  let desk: AdminDesk;
  let troubled: TroubledOrganisation;

  before(async () => {
    desk = await adminDesk();
    troubled = await troubledOrganisation(desk);
  });
  after(() => desk.leave());

  const attention = (id: string) => desk.act(showAttention, { org_id: id });
  const newOrganisation = async (plan = 'pro') => (await desk.act(createOrganisation, { name: 'Acme', plan })).org_id;

  it('are the limit that is near, the paused job, the vanished field and the idle key', async () => {
    const { id, jobId, model, idleKeyId } = troubled;
    const found = await attention(id);
    expect(found.near_limit).to.include({ used: 9_500, limit: 10_000, backstop: 20_000 });
    const today = new Date().toISOString().slice(0, 10);
    expect(found).to.deep.include({
      paused_job_count: 1,
      paused_jobs: [
        {
          ...{ job_id: jobId, name: 'leads.csv', rows: 20_000, done: 8_000 },
          pause: { reason: 'requested', message: 'The job was paused.' },
        },
      ],
      vanished_field_count: 1,
      vanished_fields: [
        {
          ...{ model_id: model._id, model_name: 'Expansion', field: 'company_size', label: 'Company size' },
          ...{ day: today, before: 1, now: 0 },
        },
      ],
      idle_key_count: 1,
    });
    const [key] = found.idle_keys;
    expect(key).to.include({ key_id: idleKeyId, name: 'Old integration', kind: 'live' });
    expect(Date.now() - Date.parse(key?.last_used_at ?? '')).to.be.within(61 * dayMs, 62 * dayMs);
  });

  it('are only the limit for a viewer, who may act on nothing else', async () => {
    const { near_limit: near, ...others } = await desk.act(
      showAttention,
      { org_id: troubled.id },
      personOf(troubled.id, 'viewer'),
    );
    expect(near?.used).to.equal(9_500);
    expect(others).to.deep.equal({
      org_id: troubled.id,
      ...{ paused_jobs: [], paused_job_count: 0, vanished_fields: [], vanished_field_count: 0 },
      ...{ idle_keys: [], idle_key_count: 0 },
    });
  });

  it('have no vanished field of a model whose Live API is off', async () => {
    const store = new ModelStore(desk.database);
    await store.update(troubled.model._id, { live_api: false });
    expect((await attention(troubled.id)).vanished_fields).to.deep.equal([]);
    await store.update(troubled.model._id, { live_api: true });
    expect((await attention(troubled.id)).vanished_field_count).to.equal(1);
  });

  it('include the limit from nine tenths of it until calls are refused', async () => {
    const id = await newOrganisation();
    const used = async (records: number) => {
      await useLimit(desk, id, records);
      return (await attention(id)).near_limit?.used;
    };
    expect(await used(8_999)).to.equal(undefined);
    expect(await used(9_000)).to.equal(9_000);
    expect(await used(19_999)).to.equal(19_999);
    expect(await used(20_000)).to.equal(undefined);
    expect((await attention(await newOrganisation('free'))).near_limit).to.equal(undefined);
  });

  it('include keys without a call for sixty days, those of the longest silence first, but none that cannot be used', async () => {
    const id = await newOrganisation();
    const add = (name: string, createdDaysAgo: number, usedDaysAgo?: number) =>
      addKey(desk, id, { name, createdDaysAgo, ...(usedDaysAgo === undefined ? {} : { usedDaysAgo }) });
    const reused = await add('Used again', 200, 100);
    await add('Used lately', 200, 59);
    await add('Created lately', 59);
    await add('Never used', 120);
    await add('Silent', 200, 61);
    await add('More silent', 200, 90);
    await add('Most silent', 200, 150);
    await desk.act(revokeKey, { org_id: id, key_id: await add('Revoked', 200) });
    const ending = await add('Expired', 200);
    await desk.act(setKey, { org_id: id, key_id: ending, expires_at: new Date(Date.now() + dayMs).toISOString() });
    const keys = desk.database.collection<{ _id: string }>('api_keys');
    await keys.updateOne({ _id: ending }, { $set: { expires_at: new Date(Date.now() - dayMs) } });
    const again = { org: id, key: reused, bucket: 'live' as const, model: 'mdl_a', calls: 1, records: 1 };
    const now = new Date();
    await new CallDayStore(desk.database).add([{ ...again, day: dayOf(now.getTime()), last_at: now }]);
    const found = await attention(id);
    expect(found.idle_key_count).to.equal(4);
    expect(found.idle_keys.map(({ name }) => name)).to.deep.equal(['Most silent', 'Never used', 'More silent']);
  });

  it('are none in a new organisation', async () => {
    const id = await newOrganisation();
    expect(await attention(id)).to.deep.equal({
      org_id: id,
      ...{ paused_jobs: [], paused_job_count: 0, vanished_fields: [], vanished_field_count: 0 },
      ...{ idle_keys: [], idle_key_count: 0 },
    });
  });

  it('cost one index key for each key, however many days it has', async () => {
    const id = await newOrganisation();
    for (const name of ['One', 'Two', 'Three']) await addKey(desk, id, { name, createdDaysAgo: 300, usedDaysAgo: 250 });
    const store = new CallDayStore(desk.database);
    const keys = ['key_1', 'key_2', 'key_3'];
    const counted = { org: id, bucket: 'live' as const, model: 'mdl_a', calls: 1, records: 1 };
    const at = (day: number) => new Date(dayOf(Date.now()).getTime() - day * dayMs);
    const days = Array.from({ length: 100 }, (_, day) => day);
    await store.add(keys.flatMap((key) => days.map((day) => ({ ...counted, key, day: at(day), last_at: at(day) }))));
    const [query] = await profiledQueries(desk.database, async () => {
      const uses = await store.lastUses(id);
      expect(uses.size).to.equal(6);
      expect(uses.get('key_2')).to.deep.equal(at(0));
    });
    expect(query?.planSummary).to.include('DISTINCT_SCAN');
    expect(query?.keysExamined).to.be.at.most(2 * 6 + 1);
  });
});
