import { expect } from 'chai';
import { eraseLead } from '../../../../shared/admin/leads/erase-lead.js';
import { exportLead } from '../../../../shared/admin/leads/export-lead.js';
import { searchLeads, showLead } from '../../../../shared/admin/leads/read-leads.js';
import { createOrganisation } from '../../../../shared/admin/organisations/change-organisations.js';
import { listAudit } from '../../../../shared/admin/people/audit-actions.js';
import { runAction } from '../../../../shared/admin/run-action.js';
import { callIdGenerator } from '../../../../shared/contract/identifiers.js';
import { fingerprintOf, KeySettingsStore } from '../../../../shared/store/accounts/key-settings.js';
import { type PredictionSegment, segmentsOf } from '../../../../shared/store/calls/prediction-segment.js';
import { AuditLog } from '../../../../shared/store/console/audit-log.js';
import { type AdminDesk, adminDesk } from '../../../support/admin/admin-desk.js';
import { failureOf } from '../../../support/failure-of.js';

const startMs = Date.UTC(2026, 10, 23, 12);
const minute = 60_000;
const [person, longForm] = ['00Q5g00000AbCdE', '00Q5g00000AbCdEEAV'];

describe('reads of leads', () => {
  let desk: AdminDesk;
  let organisationId: string;
  let nowMs = startMs;
  const newCallId = callIdGenerator();

  before(async () => {
    // Entries of one millisecond have no order.
    desk = await adminDesk({ clock: { now: () => (nowMs += 1) } });
  });
  beforeEach(async () => {
    nowMs = startMs;
    organisationId = (await desk.act(createOrganisation, { name: 'Acme', plan: 'pro' })).org_id;
    for (const crmId of [person, 'OTHER-LEAD']) await call(crmId);
  });
  after(() => desk.leave());

  async function call(crmId: string): Promise<void> {
    const of = { callId: newCallId(nowMs, organisationId), org: organisationId, model: 'mdl_a', version: '1' };
    const columns = { crmIds: [crmId], scores: [50], likelihoods: [1_234], fields: ['["secret value"]'] };
    const segments = segmentsOf({ ...of, at: new Date(nowMs), ...columns });
    await desk.database.collection<PredictionSegment>('calls').insertMany(segments);
  }

  const lead = (crmId: string) => ({ org_id: organisationId, crm_id: crmId });
  /** Entries of reads, oldest first. */
  const reads = async () =>
    (await desk.audit(organisationId)).filter(({ action }) => action.startsWith('lead.')).reverse();

  it('leave one entry for each person, action, lead and ten minutes', async () => {
    await desk.act(showLead, lead(person));
    await desk.act(showLead, lead(longForm));
    await desk.act(exportLead, lead(person));
    await desk.act(exportLead, lead(person));
    await desk.act(showLead, lead('OTHER-LEAD'));
    await desk.act(showLead, lead(person), { name: 'Bob' });
    nowMs += 11 * minute;
    await desk.act(showLead, lead(person));
    const entries = await reads();
    expect(entries.map(({ action }) => action)).to.deep.equal([
      'lead.show',
      'lead.export',
      'lead.show',
      'lead.show',
      'lead.show',
    ]);
    const [shown, exported, other, byBob, later] = entries.map(({ target }) => target);
    expect([exported, byBob, later]).to.deep.equal([shown, shown, shown]);
    expect(other).to.not.equal(shown);
  });

  it('are found by the lead in each form of its id, and by no other one', async () => {
    await desk.act(showLead, lead(person));
    await desk.act(exportLead, lead(longForm));
    await desk.act(showLead, lead('OTHER-LEAD'));
    const found = async (crmId: string) =>
      (await desk.act(listAudit, { org_id: organisationId, lead: crmId })).entries.map(({ action }) => action);
    for (const form of [person, longForm]) expect(await found(form)).to.deep.equal(['lead.export', 'lead.show']);
    expect(await found('OTHER-LEAD')).to.deep.equal(['lead.show']);
    expect(await found('NEVER-READ')).to.deep.equal([]);
  });

  it('are found by a person with a new pepper who also has the previous one', async () => {
    await desk.act(showLead, lead(person));
    const { pepper: previousPepper } = await desk.context.keySettings();
    const rolled = { brand: 'leadscore', pepper: 'the new pepper of the tests', previousPepper };
    await new KeySettingsStore(desk.database).begin(rolled);
    const context = { ...desk.context, keySettings: async () => rolled };
    await runAction(exportLead, lead(person), context);
    const { entries } = await runAction(listAudit, { org_id: organisationId, lead: person }, context);
    expect(entries.map(({ action }) => action)).to.deep.equal(['lead.export', 'lead.show']);
    expect(new Set(entries.map(({ target }) => target))).to.have.property('size', 2);
    await new KeySettingsStore(desk.database).end(fingerprintOf(previousPepper));
  });

  it('name no lead and no value in the log, and note how many leads a search has found', async () => {
    await desk.act(searchLeads, { org_id: organisationId, prefix: '00Q' });
    await desk.act(searchLeads, { org_id: organisationId, prefix: 'OTHER' });
    await desk.act(showLead, lead(person));
    await desk.act(exportLead, lead(person));
    await desk.act(eraseLead, lead(person));
    const entries = await reads();
    expect(entries.map(({ action }) => action)).to.deep.equal([
      'lead.search',
      'lead.show',
      'lead.export',
      'lead.erase',
    ]);
    expect(entries[0]).to.deep.include({ after: { leads_found: 1 } });
    const text = JSON.stringify(await desk.audit(organisationId));
    for (const secret of [person, longForm, '00Q', 'secret value']) expect(text).to.not.include(secret);
  });

  it('leave no entry when nothing is found, and none when the setting is off', async () => {
    expect(await failureOf(desk.act(showLead, lead('UNKNOWN')))).to.include({ code: 'not_found' });
    const context = { ...desk.context, auditsReads: false };
    await runAction(showLead, lead(person), context);
    await runAction(exportLead, lead(person), context);
    await runAction(searchLeads, { org_id: organisationId, prefix: '00Q' }, context);
    expect(await reads()).to.deep.equal([]);
  });

  it('are refused under another pepper than that of the database, because they could not be found again', async () => {
    await desk.act(showLead, lead(person));
    const keySettings = async () => ({ brand: 'leadscore', pepper: 'another pepper of the tests' });
    const refused = await failureOf(runAction(exportLead, lead(person), { ...desk.context, keySettings }));
    expect(refused).to.include({ code: 'other_key_settings' });
    expect((await reads()).map(({ action }) => action)).to.deep.equal(['lead.show']);
  });

  it('go with the other entries of their time', async () => {
    await desk.act(showLead, lead(person));
    nowMs += 100 * 24 * 60 * minute;
    await desk.act(showLead, lead(person));
    const log = new AuditLog(desk.database);
    expect(await log.removeBefore(new Date(nowMs - 90 * 24 * 60 * minute))).to.be.above(1);
    expect((await desk.audit(organisationId)).map(({ action }) => action)).to.deep.equal(['lead.show']);
  });
});
