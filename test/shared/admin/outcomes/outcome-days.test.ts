import { expect } from 'chai';
import { createOrganisation } from '../../../../shared/admin/organisations/change-organisations.js';
import { showOutcomeDays } from '../../../../shared/admin/outcomes/outcome-days.js';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import { dayMs, dayNumber } from '../../../../shared/contract/dates.js';
import { createModel, storeVersion } from '../../../../shared/store/models/store-version.js';
import { ValidationDailyStore } from '../../../../shared/store/validation/validation-daily.js';
import { type AdminDesk, adminDesk } from '../../../support/admin/admin-desk.js';
import { failureOf } from '../../../support/failure-of.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';

/** Noon of 23 November 2026. */
const startMs = Date.UTC(2026, 10, 23, 12);
const today = dayNumber(startMs);

describe('the outcomes of chosen days', () => {
  let desk: AdminDesk;
  let nowMs = startMs;
  let organisationId: string;
  let modelId: string;

  before(async () => {
    desk = await adminDesk({ clock: { now: () => nowMs } });
  });
  beforeEach(async () => {
    nowMs = startMs - 200 * dayMs;
    organisationId = (await desk.act(createOrganisation, { name: 'Acme', plan: 'pro' })).org_id;
    const bundle = checkBundle(sampleBundle());
    modelId = (await createModel(desk.database, { organisationId, bundle, now: new Date(nowMs) }))._id;
    nowMs = startMs;
  });
  after(() => desk.leave());

  /** Five bands with so many leads each, of which half have an outcome in the lower bands and one converted. */
  const addDays = (version: string, days: readonly number[], leads = 4, model = modelId) =>
    new ValidationDailyStore(desk.database).replace(
      days.map((day) => ({
        ...{ day, matured_day: day + 90, ledger_records: 5 * leads, stored_rows: 5 * leads },
        ...{ mismatched_requests: 0, without_crm_id: 0, erased: 0, organisation_records: 5 * leads },
        bands: Array.from({ length: 5 }, (_, band) => ({
          ...{ cohort: leads, excluded: 1, joined: band < 4 ? leads / 2 : leads, conversions: band < 4 ? 0 : 1 },
          likelihood: 1,
        })),
      })),
      { graded: `${model}:${version}`, organisationId, readAt: new Date(nowMs) },
    );
  const read = (from: string, to: string) =>
    desk.act(showOutcomeDays, { org_id: organisationId, model_id: modelId, from, to });

  it('count the leads of all versions of the model, those with an outcome and those that converted', async () => {
    const bundle = checkBundle(sampleBundle({ version: '2.0.0' }));
    await storeVersion({ database: desk.database, modelId, organisationId, bundle, now: new Date(nowMs) });
    await addDays('1.0.0', [today - 3, today - 2, today - 1]);
    await addDays('2.0.0', [today - 1], 8);
    await addDays('1.0.0', [today - 1], 100, 'mdl_other');
    const found = await read('2026-11-22', '2026-11-30');
    expect(found.to).to.equal('2026-11-23');
    expect(found.days).to.deep.equal([
      { day: '2026-11-22', leads: 60, with_outcome: 36, converted: 2 },
      { day: '2026-11-23', leads: 0, with_outcome: 0, converted: 0 },
    ]);
    expect(found.before).to.deep.equal({ from: '2026-11-20', to: '2026-11-21' });
    expect(found.sums).to.deep.equal({ leads: 60, with_outcome: 36, converted: 2 });
    expect(found.sums_before).to.deep.equal({ leads: 40, with_outcome: 24, converted: 2 });
    expect(found.days_before).to.have.length(2);
  });

  it('have no days before in an organisation that is younger than these', async () => {
    const young = (await desk.act(createOrganisation, { name: 'Young', plan: 'pro' })).org_id;
    const bundle = checkBundle(sampleBundle());
    const model = await createModel(desk.database, { organisationId: young, bundle, now: new Date(nowMs) });
    const found = await desk.act(showOutcomeDays, { org_id: young, model_id: model._id });
    expect([found.before, found.days_before, found.days.length]).to.deep.equal([null, [], 30]);
  });

  it('are not read for a model of another organisation, or for days in a wrong order', async () => {
    const { org_id: other } = await desk.act(createOrganisation, { name: 'Other', plan: 'pro' });
    const unknown = await failureOf(desk.act(showOutcomeDays, { org_id: other, model_id: modelId }));
    expect(unknown).to.have.property('code', 'not_found');
    expect((await failureOf(read('2026-11-22', '2026-11-21'))).message).to.include('must not be before');
  });
});
