import { expect } from 'chai';
import { overrideModel, setModel } from '../../../shared/admin/models/change-models.js';
import { setOrganisation } from '../../../shared/admin/organisations/change-organisations.js';
import { resumeOrganisation, suspendOrganisation } from '../../../shared/admin/organisations/suspension.js';
import { playgroundOutput } from '../../../shared/admin/schemas/leads.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { dayMs } from '../../../shared/contract/dates.js';
import type { ShapeOf } from '../../../shared/contract/schema.js';
import type { Model } from '../../../shared/store/models/models.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { expectShape } from '../../support/admin/admin-desk.js';
import type { Caller, ConsoleService } from '../../support/admin/console-service.js';
import { sharedConsoleWithPool } from '../../support/admin/shared-console.js';
import { sampleAnswer } from '../../support/models/sample-answer.js';
import { sampleBundle, sampleFeatures } from '../../support/models/sample-bundle.js';
import { startTimeoutMs } from '../../support/service/service.js';

describe('the playground', () => {
  let service: ConsoleService;
  let organisationId: string;
  let model: Model;
  let admin: Caller;

  before(async function () {
    this.timeout(2 * startTimeoutMs);
    service = await sharedConsoleWithPool();
    organisationId = await service.newOrganisation();
    model = await newModel(organisationId);
    admin = await service.signIn('admin', organisationId);
  });

  const newModel = (organisation: string) =>
    createModel(service.database, {
      organisationId: organisation,
      bundle: checkBundle(sampleBundle()),
      now: new Date(),
    });
  const score = (caller: Caller, fields: unknown = { company_size: 50 }, modelId = model._id, org = organisationId) =>
    caller('POST', `/admin/v1/orgs/${org}/playground`, { body: { model_id: modelId, fields } });
  const calls = () => service.database.collection('calls');

  it('scores a record with reasons as a gateway does, counts it in the test bucket and records no prediction', async () => {
    const before = await calls().countDocuments({ org: organisationId });
    const { status, body } = await score(admin);
    expect(status, JSON.stringify(body)).to.equal(200);
    expectShape(playgroundOutput, body);
    const { conversion_likelihood } = sampleAnswer({ company_size: 50 });
    expect(body.conversion_likelihood).to.be.closeTo(conversion_likelihood, 1.01e-4);
    expect(body.drivers).to.have.length.above(0);
    expect(body.reasons).to.have.length.above(0);
    expect(body.usage).to.deep.equal({ current: 1, limit: 1_000 });
    expect(((await score(admin)).body.usage as { current: number }).current).to.equal(2);
    const rows = await calls().find({ org: organisationId, bucket: 'test' }).toArray();
    expect(rows).to.have.length(before + 2);
    expect(rows[0])
      .to.include({ key: 'key_playground', records: 1 })
      .and.not.have.any.keys('crm_ids', 'scores', 'fields');
  });

  it('sees at once that the Live API was turned off, and that the deploy policy blocks', async () => {
    const operator = { org_id: organisationId, model_id: model._id };
    await service.act(setModel, { ...operator, live_api: false });
    const off = await score(admin);
    expect([off.status, (off.body.error as { code: string }).code]).to.deep.equal([403, 'api_disabled']);
    await service.act(setModel, { ...operator, live_api: true });
    await service.act(setOrganisation, { org_id: organisationId, policy: 'block' });
    expect((await score(admin)).status).to.equal(409);
    await service.act(overrideModel, { ...operator, reason: 'a pilot' });
    expect((await score(admin)).status).to.equal(200);
  });

  it('sees at once that the organisation is suspended, and counts nothing until that ends', async () => {
    const suspended = await service.newOrganisation('Suspended');
    const { _id: modelId } = await newModel(suspended);
    const caller = await service.signIn('admin', suspended);
    await service.act(suspendOrganisation, { org_id: suspended, reason: 'not paid' });
    const { status, body } = await score(caller, undefined, modelId, suspended);
    expect([status, (body.error as { code: string }).code]).to.deep.equal([402, 'workspace_suspended']);
    expect(await service.ledgerSum(suspended, 'test')).to.equal(0);
    await service.act(resumeOrganisation, { org_id: suspended });
    expect((await score(caller, undefined, modelId, suspended)).status).to.equal(200);
  });

  it('is refused without a session, to viewers, and for models and organisations of others', async () => {
    const other = await service.newOrganisation('Beta');
    const foreign = await newModel(other);
    expect((await score(service.anyone)).status).to.equal(401);
    expect((await score(await service.signIn('viewer', organisationId))).status).to.equal(403);
    expect((await score(admin, {}, foreign._id)).status).to.equal(404);
    expect((await score(admin, {}, foreign._id, other)).status).to.equal(404);
    expect((await score(await service.signIn('operator'), undefined, foreign._id, other)).status).to.equal(200);
  });

  it('reports how the record was read, and says in words that it has no field of the model', async () => {
    const { body } = await score(admin, { 'Company Sise': 5, lead_source: 'Pigeon', demo_requested: '?' });
    expect(body.input).to.deep.equal({
      used: 1,
      unread: [{ field: 'demo_requested', value: '?', reason: 'expected true or false' }],
      unseen: [{ field: 'lead_source', value: 'Pigeon' }],
      ...{ ambiguous: [], ignored: ['Company Sise'], did_you_mean: { 'Company Sise': 'company_size' } },
    });
    const messageOf = async (fields: object) =>
      ((await score(admin, fields)).body.error as { message: string }).message;
    expect(await messageOf({})).to.equal('The record is empty. Fill in at least one field, then score it.');
    expect(await messageOf({ 'Company Sise': 5, other: 1 })).to.equal(
      'The record has no field of this model, but "Company Sise" (did you mean "company_size"?), "other". Use the ' +
        'names of the form.',
    );
    const six = Object.fromEntries(['a "b"', 'c\nd', 'e'.repeat(200), 'f', 'g', 'h'].map((name) => [name, 1]));
    expect(await messageOf(six)).to.equal(
      `The record has no field of this model, but "a \\"b\\"", "c\\nd", "${'e'.repeat(99)}…", "f", "g" and others. Use ` +
        'the names of the form.',
    );
  });

  it('says of a date how long ago it was, because the model reads its age', async () => {
    const date = { field: 'last_activity', label: 'Last activity', type: 'date', columns: [6], impute: 0 } as const;
    const dated = await createModel(service.database, {
      organisationId,
      bundle: checkBundle(sampleBundle({ name: 'Dated', features: [...sampleFeatures, date] })),
      now: new Date(),
    });
    await service.act(setOrganisation, { org_id: organisationId, policy: 'warn' });
    const last_activity = new Date(Date.now() - 40.1 * dayMs).toISOString();
    const { status, body } = await score(admin, { last_activity }, dated._id);
    expect(status, JSON.stringify(body)).to.equal(200);
    const { drivers, reasons } = body as unknown as ShapeOf<typeof playgroundOutput>;
    expect(drivers.find(({ field }) => field === 'last_activity')?.value).to.equal('40 days ago');
    expect(reasons.join()).to.match(/Last activity: 40 days ago \((raises|lowers) the score\)/);
  });

  it('counts the names that its report leaves out', async () => {
    const unknown = Object.fromEntries(Array.from({ length: 23 }, (_, index) => [`unknown ${index}`, 1]));
    const { body } = await score(admin, { ...unknown, company_size: 50 });
    const { ignored, more } = body.input as ShapeOf<typeof playgroundOutput>['input'];
    expect([ignored.length, more]).to.deep.equal([20, { ignored: 3 }]);
  });

  it('names the field that the model cannot read, and the member that is wrong', async () => {
    const unreadable = await score(admin, { company_size: {} });
    expect([unreadable.status, (unreadable.body.error as { message: string }).message]).to.satisfy(
      ([status, message]: [number, string]) => (status === 422 || status === 400) && message.includes('company_size'),
    );
    expect((await score(admin, 'text')).body.error).to.include({ code: 'invalid_request', member: 'fields' });
  });
});
