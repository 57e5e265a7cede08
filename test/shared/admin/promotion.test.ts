import { expect } from 'chai';
import { AdminError } from '../../../shared/admin/admin-error.js';
import { dropCandidate, setCandidate } from '../../../shared/admin/models/candidates/candidates.js';
import { promoteCandidate, rollBackModel } from '../../../shared/admin/models/candidates/promotion.js';
import { overrideModel, setModel } from '../../../shared/admin/models/change-models.js';
import { createOrganisation, setOrganisation } from '../../../shared/admin/organisations/change-organisations.js';
import { runAction } from '../../../shared/admin/run-action.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { modelStrikesKey } from '../../../shared/redis/keys.js';
import { type Model, ModelStore } from '../../../shared/store/models/models.js';
import { createModel, storeVersion } from '../../../shared/store/models/store-version.js';
import { ValidationStore } from '../../../shared/store/validation/model-validation.js';
import { type AdminDesk, adminDesk, personOf } from '../../support/admin/admin-desk.js';
import { failureOf } from '../../support/failure-of.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { storeComparedRun } from '../../support/models/sample-comparison.js';

describe('the promotion of a candidate', () => {
  let desk: AdminDesk;
  let org: string;
  let id: string;

  before(async () => {
    desk = await adminDesk();
  });
  beforeEach(async () => {
    org = (await desk.act(createOrganisation, { name: 'Acme', plan: 'pro' })).org_id;
    const [now, organisationId, { database }] = [new Date(), org, desk];
    const [one, two] = ['1.0.0', '2.0.0'].map((version) => checkBundle(sampleBundle({ version })));
    if (one === undefined || two === undefined) throw new Error('two bundles are made');
    id = (await createModel(database, { organisationId, bundle: one, now }))._id;
    await storeVersion({ database, organisationId, modelId: id, bundle: two, now });
    await desk.act(setCandidate, { model_id: id, version: '2.0.0' });
    await storeComparedRun(database, id);
  });
  after(() => desk.leave());

  const models = () => desk.database.collection<Model>('models');
  const stored = () => models().findOne({ _id: id });
  const loggedChanges = () => desk.database.collection('changes').countDocuments({ kind: 'organisation', id: org });
  const entries = async (action: string) => (await desk.audit(org)).filter((entry) => entry.action === action);
  const named = { current: '1.0.0', candidate: '2.0.0' };
  const back = { current: '2.0.0', previous: '1.0.0' };
  const promote = (given: object = {}) => desk.act(promoteCandidate, { org_id: org, model_id: id, ...named, ...given });
  const rollBack = (given: object = {}) => desk.act(rollBackModel, { org_id: org, model_id: id, ...back, ...given });
  const block = () => desk.act(setOrganisation, { org_id: org, policy: 'block' });
  const grade = (version: string, state: 'passed' | 'failed') =>
    new ValidationStore(desk.database).replace({
      ...{ _id: `${id}:${version}`, organisation_id: org, graded_at: new Date() },
      ...{ state, failing_gate: null, summary: `This version has ${state}.` },
    });

  /** The refusal of an action, which has changed nothing. */
  async function refusalOf(act: () => Promise<unknown>): Promise<Pick<AdminError, 'code' | 'message'>> {
    const state = async () => [await stored(), await loggedChanges(), await desk.audit(org)];
    const before = await state();
    const error = await failureOf(act());
    if (!(error instanceof AdminError)) throw error;
    expect(await state()).to.deep.equal(before);
    const { code, message } = error;
    return { code, message };
  }

  it('lets it score and ends its candidacy, with entries in the change log and in the audit log', async () => {
    const logged = await loggedChanges();
    const { candidate } = (await stored()) ?? {};
    const document = await promote();
    expect(document).to.deep.include({ version: '2.0.0', previous: { version: '1.0.0' } });
    expect(document).to.not.have.any.keys('candidate', 'candidate_run', 'override');
    expect(await stored())
      .to.deep.include({ version: '2.0.0', previous: { version: '1.0.0' } })
      .and.to.not.have.property('candidate');
    expect(await loggedChanges()).to.equal(logged + 1);
    const [entry, ...others] = await entries('model.promote');
    expect(others).to.deep.equal([]);
    expect(entry?.before).to.deep.equal({
      version: '1.0.0',
      candidate: { ...candidate, since: candidate?.since.toISOString() },
    });
    expect(entry?.after).to.deep.equal({ version: '2.0.0', previous: { version: '1.0.0' } });
    expect(entry).to.not.have.property('reason');
  });

  it('changes nothing when its entry in the audit log cannot be written', async () => {
    const [before, logged] = [await stored(), await loggedChanges()];
    await desk.database.command({ collMod: 'audit_log', validator: { never: { $exists: true } } });
    try {
      await failureOf(promote());
    } finally {
      await desk.database.command({ collMod: 'audit_log', validator: {} });
    }
    expect(await stored()).to.deep.equal(before);
    expect(await loggedChanges()).to.equal(logged);
  });

  it('is refused in a state that the caller does not name', async () => {
    const refused = `Version "2.0.0" of ${id} was not promoted`;
    const next = 'Look at the model again, then decide';
    expect(await refusalOf(() => promote({ current: '0.9.0' }))).to.deep.equal({
      code: 'changed_meanwhile',
      message: `${refused}: the current version is "1.0.0", not "0.9.0". ${next}`,
    });
    expect((await refusalOf(() => promote({ candidate: '2.1.0' }))).message).to.equal(
      `Version "2.1.0" of ${id} was not promoted: the candidate is "2.0.0", not "2.1.0". ${next}`,
    );
    await desk.act(dropCandidate, { model_id: id });
    expect(await refusalOf(promote)).to.deep.equal({
      code: 'changed_meanwhile',
      message: `${refused}: there is no candidate. ${next}`,
    });
    await desk.act(setCandidate, { model_id: id, version: '1.0.0' });
    const itself = await refusalOf(() => promote({ candidate: '1.0.0' }));
    expect(itself.code).to.equal('conflict');
    expect(itself.message).to.include('it scores calls already. Make another version the candidate');
  });

  it('is unknown for a model of another organisation, and forbidden to a viewer', async () => {
    const other = (await desk.act(createOrganisation, { name: 'Beta', plan: 'pro' })).org_id;
    const ada = personOf(other, 'admin');
    const viewer = personOf(org, 'viewer');
    const proposed = { model_id: id, version: '2.0.0' };
    for (const [byOther, byViewer] of [
      [
        () => desk.act(setCandidate, { org_id: other, ...proposed }, ada),
        () => desk.act(setCandidate, { org_id: org, ...proposed }, viewer),
      ],
      [
        () => desk.act(dropCandidate, { org_id: other, model_id: id }, ada),
        () => desk.act(dropCandidate, { org_id: org, model_id: id }, viewer),
      ],
      [
        () => desk.act(promoteCandidate, { org_id: other, model_id: id, ...named }, ada),
        () => desk.act(promoteCandidate, { org_id: org, model_id: id, ...named }, viewer),
      ],
      [
        () => desk.act(rollBackModel, { org_id: other, model_id: id, ...back }, ada),
        () => desk.act(rollBackModel, { org_id: org, model_id: id, ...back }, viewer),
      ],
    ] as const) {
      expect(await refusalOf(byOther)).to.deep.equal({ code: 'not_found', message: `There is no model ${id}` });
      expect((await refusalOf(byViewer)).code).to.equal('forbidden');
    }
  });

  it('happens once when several people promote at once: the others are refused', async () => {
    const results = await Promise.allSettled(Array.from({ length: 6 }, () => promote()));
    const refusals = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect(refusals.map(({ code }) => code)).to.deep.equal(Array(5).fill('changed_meanwhile'));
    expect(refusals[0].message).to.include('the current version is "2.0.0", not "1.0.0"');
    expect(await stored()).to.deep.include({ version: '2.0.0', previous: { version: '1.0.0' } });
    expect(await entries('model.promote')).to.have.length(1);
  });

  for (const [title, prepare, because] of [
    [
      'that is worse',
      () => storeComparedRun(desk.database, id, { verdict: 'worse' }),
      'its comparison says that it is worse. Drop the candidate',
    ],
    [
      'whose run failed',
      () => storeComparedRun(desk.database, id, null, { state: 'failed', message: 'It reads nothing.' }),
      'its run failed (It reads nothing). Import a version that can be run',
    ],
    [
      'whose run has not ended',
      () => storeComparedRun(desk.database, id, null, { state: 'running' }),
      'its run is not finished. Wait for its comparison',
    ],
    [
      'whose run has not begun',
      () => storeComparedRun(desk.database, id, {}, { base: '0.9.0' }),
      'its run is not finished. Wait for its comparison',
    ],
    [
      'that is not compared yet',
      () => storeComparedRun(desk.database, id, null),
      'it is not compared yet. Wait for its comparison',
    ],
    [
      'in quarantine',
      () => desk.redis.hset(modelStrikesKey, `${id}:2.0.0`, `2@${Date.now()}@${Date.now() + 600_000}`),
      'it is in quarantine, because it ended worker processes. Drop the candidate',
    ],
  ] as const)
    it(`needs force with a reason for a candidate ${title}`, async () => {
      await prepare();
      expect(await refusalOf(promote)).to.deep.equal({
        code: 'needs_force',
        message: `Version "2.0.0" of ${id} was not promoted: ${because}, or promote it by force with a reason`,
      });
      expect(await promote({ force: { reason: 'The board wants it' } })).to.include({ version: '2.0.0' });
      const [entry] = await entries('model.promote');
      expect(entry).to.include({ reason: 'The board wants it' });
      expect(entry?.after?.in_spite_of).to.deep.equal([because.split('. ')[0]]);
    });

  for (const [title, prepare] of [
    ['that is no worse', () => storeComparedRun(desk.database, id, { verdict: 'no_worse' })],
    ['whose comparison is too early', () => storeComparedRun(desk.database, id, { verdict: 'too_early' })],
    [
      'whose quarantine is over',
      () => desk.redis.hset(modelStrikesKey, `${id}:2.0.0`, `2@${Date.now() - 7_200_000}@${Date.now() - 3_600_000}`),
    ],
    [
      'of a timing model, which is not compared',
      async () => {
        await models().updateOne({ _id: id }, { $set: { family: 'timing' } });
        await storeComparedRun(desk.database, id, null);
      },
    ],
  ] as const)
    it(`needs no force for a candidate ${title}`, async () => {
      await prepare();
      expect(await promote()).to.include({ version: '2.0.0' });
      expect((await entries('model.promote'))[0]?.after).to.not.have.property('in_spite_of');
    });

  it('does not wait for a Redis that cannot be reached', async () => {
    const context = {
      ...desk.context,
      redis: () => Promise.reject(new Error('no Redis')),
      notAnnounced: () => undefined,
    };
    const document = await runAction(promoteCandidate, { model_id: id, ...named }, context);
    expect(document).to.include({ version: '2.0.0' });
  });

  it('keeps the verdict of the candidate, which counts under the policy block', async () => {
    await block();
    await grade('2.0.0', 'passed');
    const document = await promote();
    expect(document.validation).to.include({ state: 'passed' });
    expect(document).to.not.have.property('override');
  });

  it('needs an override under the policy block unless the verdict is cleared', async () => {
    await desk.act(overrideModel, { org_id: org, model_id: id, reason: 'a pilot' });
    await block();
    const refusal = await refusalOf(promote);
    expect(refusal.code).to.equal('would_block');
    expect(refusal.message).to.include(
      `Version "2.0.0" of ${id} would get 409 for each call: the deploy policy is block and its validation state is too_early_to_grade`,
    );
    await grade('2.0.0', 'failed');
    expect((await refusalOf(promote)).message).to.include('its validation state is failed');
    const document = await promote({ override: { reason: 'for the new team' } });
    expect(document.override).to.include({ version: '2.0.0', reason: 'for the new team', by: 'Olga' });
    expect(document.previous?.override).to.include({ version: '1.0.0', reason: 'a pilot' });
    expect((await entries('model.promote'))[0]).to.include({ reason: 'for the new team' });
  });

  it('does not count an override that the candidate had before', async () => {
    await block();
    const override = { reason: 'an old pilot' };
    await desk.act(setModel, { model_id: id, version: '2.0.0', override });
    await grade('1.0.0', 'passed');
    await desk.act(setModel, { model_id: id, version: '1.0.0' });
    await desk.act(setCandidate, { model_id: id, version: '2.0.0' });
    await storeComparedRun(desk.database, id);
    expect((await refusalOf(promote)).code).to.equal('would_block');
    await grade('2.0.0', 'passed');
    expect(await promote()).to.not.have.any.keys('override', 'other_override');
  });

  describe('and its rollback', () => {
    it('restores the version before with its override, once', async () => {
      await desk.act(overrideModel, { org_id: org, model_id: id, reason: 'a pilot' });
      const { override } = (await stored()) ?? {};
      await promote({ override: { reason: 'for the new team' } });
      const document = await rollBack();
      expect(document).to.include({ version: '1.0.0' }).and.to.not.have.property('previous');
      expect(await stored())
        .to.deep.include({ version: '1.0.0', override })
        .and.to.not.have.property('previous');
      const [entry] = await entries('model.rollback');
      expect(entry?.before).to.have.keys('version', 'override', 'previous');
      expect(entry?.after).to.have.keys('version', 'override');
      expect(await refusalOf(() => rollBack({ current: '1.0.0' }))).to.deep.equal({
        code: 'changed_meanwhile',
        message: `${id} was not rolled back: there is no previous version. Look at the model again, then decide`,
      });
    });

    it('removes an override that the version before did not have', async () => {
      await promote({ override: { reason: 'for the new team' } });
      expect(await rollBack()).to.not.have.any.keys('override', 'other_override', 'previous');
    });

    it('is refused in a state that the caller does not name', async () => {
      await promote();
      expect(await refusalOf(() => rollBack({ previous: '0.9.0' }))).to.deep.equal({
        code: 'changed_meanwhile',
        message: `${id} was not rolled back: the previous version is "1.0.0", not "0.9.0". Look at the model again, then decide`,
      });
      const other = await refusalOf(() => rollBack({ current: '1.0.0' }));
      expect(other.message).to.include('the current version is "2.0.0", not "1.0.0"');
    });

    it('is refused if the policy would block the version before, unless it gets an override', async () => {
      await promote();
      await grade('2.0.0', 'passed');
      await block();
      const { code, message } = await refusalOf(rollBack);
      expect(code).to.equal('would_block');
      expect(message).to.include(`Version "1.0.0" of ${id} would get 409 for each call`);
      const document = await rollBack({ override: { reason: 'the new one is worse' } });
      expect(document.override).to.include({ version: '1.0.0', reason: 'the new one is worse' });
      expect((await entries('model.rollback'))[0]).to.include({ reason: 'the new one is worse' });
    });

    it('ends the candidacy of the version before, if it has one', async () => {
      await promote();
      await desk.act(setCandidate, { model_id: id, version: '1.0.0' });
      expect(await rollBack()).to.not.have.property('candidate');
    });

    it('goes back from a version that was set, without an override that was removed meanwhile', async () => {
      await desk.act(overrideModel, { org_id: org, model_id: id, reason: 'a pilot' });
      const set = await desk.act(setModel, { model_id: id, version: '2.0.0' });
      expect(set.previous).to.deep.include({ version: '1.0.0' }).and.to.have.property('override');
      const removed = await desk.act(setModel, { model_id: id, override: null });
      expect(removed.previous).to.deep.equal({ version: '1.0.0' });
      expect(await rollBack())
        .to.include({ version: '1.0.0' })
        .and.to.not.have.property('override');
    });

    it('changes the model once when several people roll back at once', async () => {
      await promote();
      const results = await Promise.allSettled(Array.from({ length: 4 }, () => rollBack()));
      const codes = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []));
      expect(codes).to.deep.equal(Array(3).fill('changed_meanwhile'));
      expect(await entries('model.rollback')).to.have.length(1);
      expect(await new ModelStore(desk.database).find(id)).to.include({ version: '1.0.0' });
    });
  });
});
