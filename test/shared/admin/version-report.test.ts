import { expect } from 'chai';
import type { Document } from 'mongodb';
import { overrideModel } from '../../../shared/admin/models/change-models.js';
import { reportModel } from '../../../shared/admin/models/model-report.js';
import { createOrganisation } from '../../../shared/admin/organisations/change-organisations.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { dayMs, dayText } from '../../../shared/contract/dates.js';
import type { Model } from '../../../shared/store/models/models.js';
import { createModel, storeVersion } from '../../../shared/store/models/store-version.js';
import { type AdminDesk, adminDesk, personOf } from '../../support/admin/admin-desk.js';
import { failureOf } from '../../support/failure-of.js';
import { sampleBundle, sampleFeatures } from '../../support/models/sample-bundle.js';

const nowMs = Date.UTC(2026, 10, 23, 12);
const moves = [{ field: 'company_size', label: 'Company size', raises: 0.2, lowers: -0.1 }];

describe('the report of one version of a model', () => {
  let desk: AdminDesk;
  let organisationId: string;
  let model: Model;

  before(async () => {
    desk = await adminDesk({ clock: { now: () => nowMs } });
    organisationId = (await desk.act(createOrganisation, { name: 'Acme', plan: 'pro' })).org_id;
    const owner = { database: desk.database, organisationId, now: new Date(nowMs) };
    model = await createModel(desk.database, { ...owner, bundle: checkBundle(sampleBundle()), contributions: moves });
    const country = {
      field: 'country',
      label: 'Country',
      type: 'category',
      encoding: 'ordinal',
      columns: [6],
    } as const;
    const features = [...sampleFeatures, { ...country, categories: ['DE', 'FR', 'SE'] }];
    const newer = checkBundle(sampleBundle({ version: '2.0.0', features }));
    await storeVersion({ ...owner, modelId: model._id, bundle: newer });
    await addGrade('2.0.0');
  });
  after(() => desk.leave());

  async function addGrade(version: string): Promise<void> {
    const graded = `${model._id}:${version}`;
    const at = new Date(nowMs);
    const day = Math.floor(nowMs / dayMs) - 100;
    const band = { cohort: 7, excluded: 0, joined: 7, conversions: 1, likelihood: 7_000 };
    await desk.database.collection<Document & { _id: string }>('validation_daily').insertOne({
      ...{ _id: `${graded}:${dayText(day)}`, graded, org: organisationId, day, matured_day: day + 90 },
      bands: Array(5).fill(band),
    });
    const bands = ['0-19', '20-39', '40-59', '60-79', '80-100'].map((scores) => {
      return { scores, records: 7, conversions: 1, rate: 1 / 7, low: 0.02, high: 0.5 };
    });
    const dates = { as_of: at, data_read_at: at, rebuilt_at: at };
    await desk.database.collection<Document & { _id: string }>('model_validation').insertOne({
      ...{ _id: graded, organisation_id: organisationId, state: 'failed', failing_gate: 'top_band_lift' },
      ...{ summary: 'Failed at top_band_lift.', graded_at: at },
      grade: { ...dates, state: 'failed', gates: [], bands, horizon_days: 90 },
    });
  }
  const reportOf = (version?: string) =>
    desk.act(reportModel, {
      ...{ org_id: organisationId, model_id: model._id },
      ...(version === undefined ? {} : { version }),
    });

  it('is of the scoring version without a name of another one', async () => {
    const report = await reportOf();
    expect(report).to.deep.equal(await reportOf('1.0.0'));
    expect(report).to.include({ version: '1.0.0', width: 6 }).and.not.have.property('grade');
    expect(report.validation.state).to.equal('too_early_to_grade');
    expect(report.contributions).to.deep.equal(moves);
    expect(report.days).to.deep.equal([]);
  });

  it('has verdict, grade, days and fields of the named version, although another one scores', async () => {
    const report = await reportOf('2.0.0');
    expect(report).to.deep.include({ version: '2.0.0', width: 7, contributions: null });
    expect(report.validation).to.deep.equal({
      ...{ state: 'failed', failing_gate: 'top_band_lift', summary: 'Failed at top_band_lift.' },
    });
    expect(report.grade?.calibration[4]).to.include({ records: 7, promised: 0.1 });
    expect(report.days.map(({ bands }) => bands)).to.deep.equal([[7, 7, 7, 7, 7]]);
    expect(report.fields.map(({ field, categories }) => [field, categories])).to.deep.equal([
      ['company_size', undefined],
      ['demo_requested', undefined],
      ['lead_source', 2],
      ['country', 3],
    ]);
  });

  it('does not say that an override changed the verdict', async () => {
    const before = await reportOf('1.0.0');
    await desk.act(overrideModel, { org_id: organisationId, model_id: model._id, reason: 'a pilot' });
    expect((await reportOf('1.0.0')).validation).to.deep.equal(before.validation);
  });

  it('is not found for an unknown version and for another organisation', async () => {
    const unknown = await failureOf(reportOf('3.0.0'));
    expect(unknown).to.include({ code: 'not_found', message: `${model._id} has no version "3.0.0".` });
    const { org_id: other } = await desk.act(createOrganisation, { name: 'Beta', plan: 'pro' });
    const input = { model_id: model._id, version: '2.0.0' };
    const stranger = personOf(other, 'owner');
    for (const org of [organisationId, other])
      expect(await failureOf(desk.act(reportModel, { ...input, org_id: org }, stranger))).to.include({
        code: 'not_found',
      });
  });
});
