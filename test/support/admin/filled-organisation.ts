import type { Document } from 'mongodb';
import { createOrganisation } from '../../../shared/admin/organisations/change-organisations.js';
import { createKey } from '../../../shared/admin/organisations/key-actions.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { dayMs, dayNumber, dayText, monthOf } from '../../../shared/contract/dates.js';
import { callIdGenerator, jobIdOf, organisationNumber } from '../../../shared/contract/identifiers.js';
import { readingKinds } from '../../../shared/messages/score-job.js';
import { CallDayStore, dayOf, latencyBucket } from '../../../shared/store/console/call-days.js';
import { consoleKeyId, createJob } from '../../../shared/store/jobs/create-job.js';
import { placeOf } from '../../../shared/store/jobs/input-sums.js';
import { noTotals } from '../../../shared/store/jobs/job-documents.js';
import { FieldDayStore } from '../../../shared/store/models/field-days.js';
import type { Model } from '../../../shared/store/models/models.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { defaultOptions, sampleJob } from '../jobs/sample-job.js';
import { sampleBundle } from '../models/sample-bundle.js';
import type { AdminDesk } from './admin-desk.js';

/** An organisation with all that the pages of the console show. */
export interface FilledOrganisation {
  readonly id: string;
  /** A model whose version has passed. */
  readonly model: Model;
  /** A lead with three scores. */
  readonly crmId: string;
  /** Shown as it is: a name with markup. */
  readonly keyName: string;
  /** A bulk job that waits for the next month. */
  readonly jobId: string;
}

const markup = '<img src=x onerror=alert(1)>';
const bandNames = ['0-19', '20-39', '40-59', '60-79', '80-100'];
const daysBack = 100;

/** Creates an organisation with keys, a graded model and one without a grade, usage, activity and a lead's history. */
export async function filledOrganisation(desk: AdminDesk): Promise<FilledOrganisation> {
  const { org_id: id } = await desk.act(createOrganisation, { name: `Acme ${markup}`, plan: 'pro' });
  const keyName = `HubSpot ${markup}`;
  const key = await desk.act(createKey, { org_id: id, name: keyName, kind: 'live' });
  await desk.act(createKey, { org_id: id, name: 'Trial of the integration', kind: 'test' });
  const now = new Date();
  const bundle = checkBundle(sampleBundle({ name: `Conversion ${markup}` }));
  const model = await createModel(desk.database, { organisationId: id, bundle, now });
  await createModel(desk.database, { organisationId: id, bundle: checkBundle(sampleBundle()), now });
  await addCalls(desk, { id, keyId: key.key_id, model });
  await addGrade(desk, id, model);
  await addCoverage(desk, model);
  const jobId = await addJob(desk, model);
  return { id, model, crmId: 'LEAD-02638', keyName, jobId };
}

interface Calls {
  readonly id: string;
  readonly keyId: string;
  readonly model: Model;
}

/** Calls of the last hours, of which three score one lead, and their activity. */
async function addCalls(desk: AdminDesk, { id, keyId, model }: Calls): Promise<void> {
  const nowMs = Date.now();
  const newCallId = callIdGenerator();
  const rows = [0, 1, 2].map((index) => {
    const atMs = nowMs - (3 - index) * 60_000;
    const at = new Date(atMs);
    return {
      ...{ _id: newCallId(atMs, id), request_id: `request-${index}`, org: id, key: keyId, bucket: 'live' },
      ...{ month: monthOf(atMs), records: 1, model: model._id, version: model.version, at, arrived_at: at },
      ...{ crm_ids: ['LEAD-02638'], scores: [40 + 20 * index], likelihoods: [1_000 + 900 * index] },
      ...{ fields: [`[${50 * index}]`], without_crm_id: 0, erased: 0, o: organisationNumber(id) },
    };
  });
  await desk.database.collection<Document & { _id: string }>('calls').insertMany(rows);
  const base = { org: id, key: keyId, bucket: 'live' as const, day: dayOf(nowMs), last_at: new Date(nowMs) };
  await new CallDayStore(desk.database).add([
    { ...base, model: model._id, calls: 3, records: 3, latency: { [latencyBucket(40)]: 3 } },
    { ...base, model: '', calls: 1, records: 0, errors: { rate_limited: 1 }, latency: { [latencyBucket(9)]: 1 } },
  ]);
}

/** Readings of the last two days. The values of `lead_source` were not seen in training. */
async function addCoverage({ database }: AdminDesk, model: Model): Promise<void> {
  const today = dayNumber(Date.now());
  const owner = { org: model.organisation_id, model: model._id, version: model.version };
  const counts = (unseen: number) => new Map([[2, readingKinds.map((kind) => (kind === 'unseen' ? unseen : 0))]]);
  const values = new Map([[2, new Map([[`SaaS ${markup}`, 40]])]]);
  await new FieldDayStore(database).add([
    { ...owner, day: today - 1, records: 50, counts: counts(0), values: new Map() },
    { ...owner, day: today, records: 50, counts: counts(40), values },
  ]);
}

/** A passing grade with its figures, and the scores by day behind it. */
async function addGrade({ database }: AdminDesk, id: string, model: Model): Promise<void> {
  const graded = `${model._id}:${model.version}`;
  const now = new Date();
  const today = Math.floor(now.getTime() / dayMs);
  const days = Array.from({ length: daysBack }, (_, back) => today - back).map((day) => ({
    ...{ _id: `${graded}:${dayText(day)}`, graded, org: id, day, matured_day: day + 90 },
    bands: bandNames.map((_, band) => {
      const cohort = 10 + ((day * (band + 3)) % 7);
      return { cohort, excluded: 0, joined: cohort, conversions: band, likelihood: 1_500 * (band + 0.5) * cohort };
    }),
  }));
  await database.collection<Document & { _id: string }>('validation_daily').insertMany(days);
  const rates = [0.012, 0.03, 0.088, 0.165, 0.418];
  const bands = bandNames.map((scores, band) => {
    const rate = rates[band] ?? 0;
    return { scores, records: 500, conversions: 500 * rate, rate, low: 0.8 * rate, high: 1.25 * rate };
  });
  const figures = {
    predictions_recorded: { cohort: 4_000, required: 200 },
    cohort_reconciles: { joined_share: 1, required_share: 0.95 },
    matured_cohort: { matured_and_joined: 2_500, required: 200 },
    outcomes_observed: { conversions: 356, required_conversions: 30 },
    rate_rises_with_band: { p: 0.000_01, required_p: 0.05 },
    top_band_lift: { lift: 2.9, lower_bound: 2.6, required_lift: 1.2 },
  };
  const gates = Object.entries(figures).map(([gate, each]) => ({ gate, state: 'cleared', figures: each }));
  const dates = { as_of: now, data_read_at: now, rebuilt_at: now };
  await database.collection<Document & { _id: string }>('model_validation').insertOne({
    ...{
      _id: graded,
      organisation_id: id,
      state: 'passed',
      failing_gate: null,
      summary: 'Passed: all six gates cleared.',
    },
    ...{ graded_at: now, grade: { ...dates, state: 'passed', gates, bands, horizon_days: 90 } },
  });
}

/** A paused job whose file has a long name, an unknown column and unread values. */
async function addJob({ database }: AdminDesk, model: Model): Promise<string> {
  const nowMs = Date.now();
  const org = model.organisation_id;
  const columns = ['Lead ID', 'Company Size', `Notes ${markup}`];
  const job = sampleJob({
    ...{ _id: jobIdOf(callIdGenerator()(nowMs, org)), org, key: consoleKeyId, person: 'Ada', state: 'paused' },
    ...{ model: model._id, version: model.version, upload: { length: 2_000_000, complete_at: new Date(nowMs) } },
    options: { ...defaultOptions, crm_id_field: 'Lead ID', name: `${'leads-of-the-year-'.repeat(6)}.csv` },
    pause: { reason: 'quota_exceeded', message: 'The month has no room.', resume_at: new Date(nowMs + 10 * dayMs) },
    file: {
      shape: { format: 'csv', columns, delimiter: ',', crm_id_field: 'Lead ID' },
      ...{ rows: 20_000, slices: 20, header_line: 'Lead ID,Company Size\n' },
      fields: [
        { field: 'company_size', expected: 'a number' },
        { field: 'demo_requested', expected: 'true or false' },
      ],
    },
    input: {
      ...{ records: 8_000, counts: [placeOf(0, 'unread'), 12, placeOf(1, 'unsent'), 8_000] },
      ...{ ignored: [{ name: `Notes ${markup}`, meant: ['demo_requested'] }], different: 1 },
    },
    notices: ['The file has 20,000 rows, and this month has room for 9,997 records until the limit.'],
    ...{
      settled: { ...noTotals, rows: 8_000, scored: 8_000 },
      created_at: new Date(nowMs),
      started_at: new Date(nowMs),
    },
    purge_at: new Date(nowMs + 90 * dayMs),
  });
  await createJob(database, job, 1);
  return job._id;
}
