import { expect } from 'chai';
import type { Document } from 'mongodb';
import { profiledQueries } from '../../../scripts/bench/console/profiled-queries.js';
import { showFleet } from '../../../shared/admin/fleet.js';
import { showCrm } from '../../../shared/admin/leads/crm.js';
import { eraseLead } from '../../../shared/admin/leads/erase-lead.js';
import { searchLeads, showLead } from '../../../shared/admin/leads/read-leads.js';
import { reportModel, stabilityOf } from '../../../shared/admin/models/model-report.js';
import { createOrganisation } from '../../../shared/admin/organisations/change-organisations.js';
import { createKey, listKeys } from '../../../shared/admin/organisations/key-actions.js';
import { playgroundKeyId } from '../../../shared/admin/usage/first-run.js';
import { showOverview } from '../../../shared/admin/usage/overview.js';
import { showUsage } from '../../../shared/admin/usage/show-usage.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { dayMs, dayText } from '../../../shared/contract/dates.js';
import { callIdGenerator, organisationNumber } from '../../../shared/contract/identifiers.js';
import { modelStrikesKey } from '../../../shared/redis/keys.js';
import { CallDayStore, dayOf, latencyBucket, latencyQuantile } from '../../../shared/store/console/call-days.js';
import type { Model } from '../../../shared/store/models/models.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { OutcomeStore } from '../../../shared/store/validation/outcomes.js';
import { type AdminDesk, adminDesk } from '../../support/admin/admin-desk.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';

/** Noon of 23 November 2026, the twenty-third day of its month. */
const nowMs = Date.UTC(2026, 10, 23, 12);
const month = '2026-11';

describe('a reading action', () => {
  let desk: AdminDesk;
  let organisationId: string;
  let model: Model;
  const newCallId = callIdGenerator();

  before(async () => {
    desk = await adminDesk({ clock: { now: () => nowMs } });
  });
  beforeEach(async () => {
    organisationId = (await desk.act(createOrganisation, { name: 'Acme', plan: 'pro' })).org_id;
    const bundle = checkBundle(sampleBundle());
    model = await createModel(desk.database, { organisationId, bundle, now: new Date(nowMs) });
  });
  after(() => desk.leave());

  const calls = () => desk.database.collection<Document & { _id: string }>('calls');

  /** A counted call of one record. */
  async function call(
    atMs: number,
    crmId: string | null,
    { score = 50, fields = '[]', bucket = 'live', key = 'key_a', records = 1, month: counted = month } = {},
  ) {
    const row = { org: organisationId, key, bucket, month: counted, records, model: model._id, version: model.version };
    const segment = {
      o: organisationNumber(organisationId),
      crm_ids: [crmId],
      scores: [score],
      likelihoods: [1234],
      fields: [fields],
      without_crm_id: 0,
      erased: 0,
    };
    const at = new Date(atMs);
    await calls().insertOne({
      ...{ _id: newCallId(atMs, organisationId), request_id: 'r', ...row, at, arrived_at: at },
      ...(bucket === 'live' ? segment : {}),
    });
  }

  it('shows usage by day from roll-ups and the ledger, whose sum is the usage', async () => {
    const daily = desk.database.collection<Document & { _id: string }>('usage_daily');
    for (const day of [1, 2]) {
      const text = dayText(Math.floor(Date.UTC(2026, 10, day) / dayMs));
      const base = { org: organisationId, bucket: 'live', month, day: text, records: 10 * day };
      await daily.insertOne({ _id: `${organisationId}:live:${text}`, ...base });
    }
    // A roll-up of the day holds this call already.
    await call(Date.UTC(2026, 10, 2, 5), 'a', { records: 20 });
    await call(Date.UTC(2026, 10, 3, 5), 'a', { records: 3 });
    await call(Date.UTC(2026, 10, 23, 5), 'a', { records: 4 });
    await call(Date.UTC(2026, 10, 23, 6), null, { bucket: 'test', records: 2 });
    await call(Date.UTC(2026, 7, 31, 5), 'a', { records: 7, month: '2026-08' });
    await call(Date.UTC(2026, 9, 1, 5), 'a', { records: 5, month: '2026-10' });
    const usage = await desk.act(showUsage, { org_id: organisationId });
    const [live, test] = usage.buckets;
    const shown = live?.days.filter(({ records }) => records > 0);
    expect(shown).to.deep.equal([
      { day: '2026-11-01', records: 10, calls: null, is_open: false },
      { day: '2026-11-02', records: 20, calls: null, is_open: false },
      { day: '2026-11-03', records: 3, calls: null, is_open: true },
      { day: '2026-11-23', records: 4, calls: null, is_open: true },
    ]);
    expect([live?.days.length, live?.current, test?.current]).to.deep.equal([23, 37, 2]);
    expect(usage.months.at(-1)).to.deep.equal({ month, live: 37, test: 2 });
    expect(usage.months).to.have.length(12);
    expect(usage.months.filter(({ live, test: ofTests }) => live + ofTests > 0)).to.deep.equal([
      { month: '2026-08', live: 7, test: 0 },
      { month: '2026-10', live: 5, test: 0 },
      { month, live: 37, test: 2 },
    ]);
    expect(usage.resets_at).to.equal('2026-12-01T00:00:00.000Z');
    await desk.redis.hset(`{${organisationId}}:usage:live:${month}`, 'used', '38');
    expect((await desk.act(showUsage, { org_id: organisationId })).buckets[0]?.current).to.equal(38);
    // Calls that score nothing are not in the ledger: however many they are, it is read.
    const today = dayOf(nowMs);
    const reads = { org: organisationId, key: 'key_a', bucket: 'live' as const, model: '', day: today, last_at: today };
    await new CallDayStore(desk.database).add([{ ...reads, calls: 20_000, records: 0 }]);
    const again = await desk.act(showUsage, { org_id: organisationId });
    const recordsOf = (days: readonly { readonly records: number }[] = []) => days.map(({ records }) => records);
    expect(recordsOf(again.buckets[0]?.days)).to.deep.equal(recordsOf(live?.days));
  });

  it('divides the counter as the calls by day are when an organisation has too many calls to read', async () => {
    const at = new Date(Date.UTC(2026, 10, 22, 5));
    const row = { org: organisationId, key: 'k', bucket: 'live', month, records: 1, model: 'm', version: '1', at };
    await calls().insertMany(
      Array.from({ length: 10_001 }, () => ({ _id: newCallId(at.getTime(), organisationId), ...row })),
    );
    const callsOf = (day: Date, records: number) => ({
      ...{ org: organisationId, key: 'k', bucket: 'live' as const, model: 'm', day, calls: records, records },
      ...{ latency: { 10: records }, last_at: day },
    });
    const other = dayOf(Date.UTC(2026, 10, 23, 5));
    await new CallDayStore(desk.database).add([callsOf(dayOf(at.getTime()), 7_500), callsOf(other, 2_500)]);
    await desk.redis.hset(`{${organisationId}}:usage:live:${month}`, 'used', '20000');
    const { buckets } = await desk.act(showUsage, { org_id: organisationId });
    const days = buckets[0]?.days.filter(({ records }) => records > 0);
    expect(days?.map(({ day, records, calls: count }) => [day, records, count])).to.deep.equal([
      ['2026-11-22', 15_000, 7_500],
      ['2026-11-23', 5_000, 2_500],
    ]);
    // Once the calls by day alone are too many, the ledger is not asked.
    await new CallDayStore(desk.database).add([callsOf(other, 10_000)]);
    const queries = await profiledQueries(desk.database, () => desk.act(showUsage, { org_id: organisationId }));
    const ledger = queries.filter(({ ns }) => String(ns).endsWith('.calls'));
    expect(ledger.map(({ keysExamined }) => keysExamined).filter((keys) => keys > 10)).to.deep.equal([]);
  });

  it('shows on the overview usage, forecast, activity by day, verdicts and the first call', async () => {
    await call(Date.UTC(2026, 10, 4), 'a', { records: 2_250 });
    const day = dayOf(nowMs);
    const base = { org: organisationId, key: 'key_a', bucket: 'live' as const, day, last_at: new Date(nowMs) };
    const store = new CallDayStore(desk.database);
    await store.add([
      { ...base, model: model._id, calls: 98, records: 2_250, latency: { [latencyBucket(40)]: 98 } },
      { ...base, model: '', calls: 2, records: 0, errors: { rate_limited: 2 }, latency: { [latencyBucket(900)]: 2 } },
    ]);
    await store.add([{ ...base, model: model._id, calls: 1, records: 0, latency: { [latencyBucket(40)]: 1 } }]);
    const overview = await desk.act(showOverview, { org_id: organisationId });
    expect(overview.usage).to.include({ current: 2_250, limit: 10_000, backstop: 20_000 });
    expect(overview.forecast).to.deep.equal({ records: 3_000 });
    expect(overview.activity).to.deep.include({ calls: 101, refused: 2, errors: { rate_limited: 2 } });
    expect(overview.activity.p50_ms).to.be.within(32, 45);
    expect(overview.activity.p99_ms).to.be.within(700, 1_000);
    expect(overview.activity.days).to.have.length(1);
    expect(overview.models[0]).to.include({ model_id: model._id, records_this_month: 2_250 });
    expect(overview.crm).to.deep.equal({
      first_call_at: '2026-11-04T00:00:00.000Z',
      last_call_at: '2026-11-04T00:00:00.000Z',
    });
    expect(overview.audit.map(({ action }) => action)).to.deep.equal(['org.create']);
    expect(overview).to.include({ plan: 'pro', created_at: new Date(nowMs).toISOString() });
    expect((await desk.act(showOverview, { org_id: organisationId, bucket: 'test' })).activity.calls).to.equal(0);
  });

  it('shows on the overview which first steps are done, without calls of the playground', async () => {
    const done = async () => (await desk.act(showOverview, { org_id: organisationId })).first_run;
    expect(await done()).to.deep.equal({ model: true, key: false, call: false, outcomes: false });
    await desk.act(createKey, { org_id: organisationId });
    await call(nowMs, null, { key: playgroundKeyId, bucket: 'test' });
    expect(await done()).to.deep.equal({ model: true, key: true, call: false, outcomes: false });
    await call(nowMs, 'a');
    const outcomes = [{ crmId: 'a', converted: true, at: new Date(nowMs) }];
    await new OutcomeStore(desk.database).record({ organisationId, outcomes, receivedAt: new Date(nowMs) });
    expect(await done()).to.deep.equal({ model: true, key: true, call: true, outcomes: true });
  });

  it('shows when a key was last used, and its calls this month', async () => {
    const used = await desk.act(createKey, { org_id: organisationId });
    await desk.act(createKey, { org_id: organisationId });
    const base = { org: organisationId, key: used.key_id, bucket: 'live' as const, model: '', records: 0, latency: {} };
    const lastMonth = Date.UTC(2026, 9, 5);
    await new CallDayStore(desk.database).add([
      { ...base, day: dayOf(lastMonth), calls: 5, last_at: new Date(lastMonth) },
      { ...base, day: dayOf(nowMs), calls: 3, last_at: new Date(nowMs) },
    ]);
    const [one, other] = (await desk.act(listKeys, { org_id: organisationId })).keys;
    expect(one).to.include({ last_used_at: new Date(nowMs).toISOString(), calls_this_month: 3 });
    expect(other).to.include({ calls_this_month: 0 }).and.not.have.property('last_used_at');
  });

  it('finds leads by prefix in order, each once, and none of another organisation', async () => {
    for (const id of ['LEAD-2', 'LEAD-1', 'LEAD-1', 'LEAD-10', 'LEAP', 'lead-1', 'X-LEAD-9', 'LEAD-é', 'LEAD-.*'])
      await call(nowMs, id);
    const of = async (prefix: string, id = organisationId) =>
      (await desk.act(searchLeads, { org_id: id, prefix })).leads.map(({ crm_id }) => crm_id);
    expect(await of('LEAD-')).to.deep.equal(['LEAD-.*', 'LEAD-1', 'LEAD-10', 'LEAD-2', 'LEAD-é']);
    expect(await of('LEAD-1')).to.deep.equal(['LEAD-1', 'LEAD-10']);
    expect(await of('LEAD-.')).to.deep.equal(['LEAD-.*']);
    for (let lead = 0; lead < 30; lead += 1) await call(nowMs, `MANY-${String(lead).padStart(2, '0')}`);
    expect(await of('MANY')).to.have.length(20);
    const other = (await desk.act(createOrganisation, { name: 'Beta', plan: 'pro' })).org_id;
    expect(await of('LEAD', other)).to.deep.equal([]);
  });

  it("shows a lead's scores with changes and their fields, and erases the lead without naming it", async () => {
    // A sent null is stored as an empty array. It is as empty as a field that is not sent.
    await call(nowMs - 2 * dayMs, 'LEAD-1', { score: 40, fields: '["Referral",10,[]]' });
    await call(nowMs - dayMs, 'LEAD-1', { score: 52, fields: '["Webinar",10,null]' });
    await call(nowMs - dayMs, 'LEAD-2', { score: 1 });
    const lead = await desk.act(showLead, { org_id: organisationId, crm_id: 'LEAD-1' });
    expect(lead.scores.map(({ score, delta }) => [score, delta])).to.deep.equal([
      [52, 12],
      [40, undefined],
    ]);
    expect(lead.scores[0]?.changed?.map(({ before, after }) => [before, after])).to.deep.equal([
      ['Referral', 'Webinar'],
    ]);
    expect(lead.scores[0]).to.include({ model_name: model.name, conversion_likelihood: 0.1234 });
    await desk.act(eraseLead, { org_id: organisationId, crm_id: 'LEAD-1' });
    const { leads } = await desk.act(searchLeads, { org_id: organisationId, prefix: 'LEAD' });
    expect(leads.map(({ crm_id }) => crm_id)).to.deep.equal(['LEAD-2']);
    const entry = (await desk.audit(organisationId)).find(({ action }) => action === 'lead.erase');
    expect(entry).to.not.equal(undefined);
    expect(JSON.stringify(entry)).to.not.include('LEAD-1');
  });

  it('shows the newest calls of both kinds of keys for the set-up of a CRM', async () => {
    for (let minute = 0; minute < 25; minute += 1) await call(nowMs - minute * 60_000, null);
    await call(nowMs + 1_000, null, { bucket: 'test', key: 'key_test' });
    const crm = await desk.act(showCrm, { org_id: organisationId });
    expect(crm.calls).to.have.length(20);
    expect(crm.calls[0]).to.include({ key_id: 'key_test', bucket: 'test' });
    expect(crm).to.include({
      api_url: 'https://scoring.example.com',
      last_call_at: new Date(nowMs + 1_000).toISOString(),
    });
  });

  it('reports a model with the calibration of each band, and scores by day', async () => {
    const graded = `${model._id}:${model.version}`;
    const today = Math.floor(nowMs / dayMs);
    const band = (cohort: number) => ({
      cohort,
      excluded: 0,
      joined: cohort,
      conversions: 1,
      likelihood: 2_500 * cohort,
    });
    const days = [today - 200, today - 100, today - 2].map((day) => ({
      ...{ _id: `${graded}:${dayText(day)}`, graded, org: organisationId, day, matured_day: day + 90 },
      ...{ bands: [0, 1, 2, 3, 4].map((index) => band(100 * (index + 1))) },
    }));
    await desk.database.collection<Document & { _id: string }>('validation_daily').insertMany(days);
    const bands = ['0-19', '20-39', '40-59', '60-79', '80-100'].map((scores) => {
      return { scores, records: 10, conversions: 1, rate: 0.1, low: 0.01, high: 0.4 };
    });
    const ungraded = await desk.act(reportModel, { org_id: organisationId, model_id: model._id });
    expect(ungraded).to.not.have.property('grade');
    expect(ungraded.gates.map(({ state }) => state)).to.deep.equal(Array(6).fill('not_reached'));
    const gates = [{ gate: 'top_band_lift', state: 'not_reached', figures: { lift: 1 }, needs: 'another gate' }];
    const dates = { as_of: new Date(nowMs), data_read_at: new Date(nowMs), rebuilt_at: new Date(nowMs) };
    await desk.database.collection<Document & { _id: string }>('model_validation').insertOne({
      ...{ _id: graded, organisation_id: organisationId, state: 'passed', failing_gate: null, summary: 'Passed.' },
      ...{
        graded_at: new Date(nowMs),
        grade: { ...dates, state: 'passed', gates, bands, horizon_days: 90 },
      },
    });
    const report = await desk.act(reportModel, { org_id: organisationId, model_id: model._id });
    expect(report.gates).to.deep.equal(gates);
    const { models } = await desk.act(showOverview, { org_id: organisationId });
    expect(models[0], 'a lift that no gate has judged').to.not.have.property('lift');
    expect(report.grade?.calibration[4]).to.deep.equal({
      ...{ scores: '80-100', records: 10, promised: 0.25, converted: 0.1, low: 0.01, high: 0.4 },
    });
    expect(report.days.map(({ bands: counts }) => counts)).to.deep.equal(days.map(() => [100, 200, 300, 400, 500]));
    expect(report.stability).to.be.closeTo(0, 1e-5);
  });

  it('has a stability index that grows when scores move, and needs enough scores', () => {
    const day = (at: number, cohort: readonly number[]) => ({ day: at, cohort });
    const even = [100, 100, 100, 100, 100];
    expect(stabilityOf([day(0, even), day(100, [500, 0, 0, 0, 0])], 100)).to.be.above(1);
    expect(stabilityOf([day(0, even), day(100, [110, 95, 95, 100, 100])], 100)).to.be.below(0.1);
    expect(stabilityOf([day(0, even)], 100)).to.equal(null);
  });

  it('has quantiles of latency within a quarter of the true ones', () => {
    const latency: Record<string, number> = {};
    for (let ms = 1; ms <= 1_000; ms += 1) latency[latencyBucket(ms)] = (latency[latencyBucket(ms)] ?? 0) + 1;
    for (const quantile of [0.1, 0.5, 0.9, 0.99])
      expect((latencyQuantile(latency, quantile) ?? 0) / (1_000 * quantile)).to.be.within(0.75, 1.27);
    expect([latencyBucket(0), latencyBucket(1e9), latencyQuantile({}, 0.5)]).to.deep.equal([0, 39, null]);
  });

  it('shows the lanes and the quarantined versions to an operator', async () => {
    const strikes = { 'mdl_a:1.0': `2@${nowMs - 1}@${nowMs + 3_600_000}`, 'mdl_b:2': `1@${nowMs}@${nowMs}` };
    await desk.redis.hset(modelStrikesKey, strikes);
    const fleet = await desk.act(showFleet, {});
    expect(fleet.lanes.map(({ lane }) => lane)).to.deep.equal([
      'singles',
      'batches',
      'bulk',
      'grading',
      'upkeep',
      'bundle-checks',
    ]);
    expect(fleet.quarantine.map(({ model_id: id, version }) => [id, version])).to.deep.equal([['mdl_a', '1.0']]);
    expect(fleet.strikes).to.have.length(2);
    expect(fleet.redis.used_bytes).to.be.above(100_000);
  });
});
