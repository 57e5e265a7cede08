import { expect } from 'chai';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import { dayMs, lastNightMs } from '../../../../shared/contract/dates.js';
import { newId } from '../../../../shared/contract/identifiers.js';
import { type Model, ModelStore } from '../../../../shared/store/models/models.js';
import { createModel, storeVersion } from '../../../../shared/store/models/store-version.js';
import { type StoredVerdict, ValidationStore } from '../../../../shared/store/validation/model-validation.js';
import { dueVersions } from '../../../../worker/grading/job/due-versions.js';
import { gradeAndPublish } from '../../../../worker/grading/job/grade-models.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';
import { gradingDatabase } from '../grade-at.js';
import { RecordedWorld } from '../recorded-world.js';

const hourMs = 60 * 60 * 1000;
const quarterMs = hourMs / 4;
/** Outcomes change by the database's clock, so the service's clock shows about the same time. */
const night = lastNightMs(Date.now());

describe('dueVersions', () => {
  const mongo = gradingDatabase();
  let nowMs: number;
  const clock = { now: () => nowMs };

  beforeEach(async () => {
    nowMs = night + hourMs;
    for (const name of ['models', 'model_versions', 'model_validation', 'validation_daily', 'calls', 'outcomes'])
      await mongo.database.collection(name).deleteMany({});
  });

  const newModel = async (organisationId = newId('org')): Promise<Model> => {
    const bundle = checkBundle(sampleBundle());
    const model = await createModel(mongo.database, { organisationId, bundle, now: new Date(nowMs) });
    nowMs += 1; // models are listed by age
    return model;
  };

  /** Adds a version and makes it the current one. */
  const addVersion = async ({ _id: modelId, organisation_id: organisationId }: Model, version: string) => {
    const bundle = checkBundle(sampleBundle({ version }));
    await storeVersion({ database: mongo.database, organisationId, modelId, bundle, now: new Date(nowMs) });
    await new ModelStore(mongo.database).update(modelId, { version });
  };

  const worldOf = ({ _id: modelId, organisation_id: organisationId, version }: Model): RecordedWorld =>
    new RecordedWorld(mongo.database, { organisationId, modelId, version });

  const grade = async (model: Model, version = model.version): Promise<void> => {
    await gradeAndPublish({ database: mongo.database, clock, redis: undefined }, { model, version });
  };

  /** `<model>:<version>` of the due versions, in their order. */
  const due = async (organisationId?: string): Promise<string[]> =>
    (await dueVersions(mongo.database, clock, organisationId)).map(({ model, version }) => `${model._id}:${version}`);

  const verdictOf = ({ _id, version }: Model): Promise<StoredVerdict | undefined> =>
    new ValidationStore(mongo.database).find(`${_id}:${version}`, 5_000);

  /** Changes the verdicts as if enough leads had been scored: a version with fewer is checked by day too. */
  const changeVerdicts = (change: object = {}) =>
    mongo.database
      .collection('model_validation')
      .updateMany({}, { $set: { failing_gate: 'cohort_reconciles', ...change } });

  it('sets the night at 2:00 UTC', () => {
    const two = Date.UTC(2026, 4, 11, 2);
    expect(lastNightMs(two)).to.equal(two);
    expect(lastNightMs(two - 1)).to.equal(two - dayMs);
  });

  it('lists a version that was never graded, and a graded one only on a night after it scored', async () => {
    const model = await newModel();
    const key = `${model._id}:1.0.0`;
    expect(await due(), 'never graded').to.deep.equal([key]);
    await grade(model);
    await changeVerdicts();
    await worldOf(model).call(nowMs + hourMs, [{ crmId: 'a', score: 10 }]);
    nowMs = night + 23 * hourMs;
    expect(await due(), 'graded since last night').to.deep.equal([]);
    nowMs = night + 25 * hourMs;
    expect(await due(), 'the next night').to.deep.equal([key]);
    nowMs += hourMs;
    expect(await due(), 'until it is graded').to.deep.equal([key]);
    await grade(model);
    expect(await due()).to.deep.equal([]);
  });

  it('lists no version without news, and notes that its verdict still holds', async () => {
    const model = await newModel();
    await grade(model);
    const before = await verdictOf(model);
    nowMs = night + 25 * hourMs;
    expect(await due()).to.deep.equal([]);
    const checked = { at: new Date(nowMs), hasNews: false };
    expect(await verdictOf(model)).to.deep.equal({ ...before, checked });
    nowMs += dayMs;
    await worldOf(model).call(nowMs - 2 * hourMs, [{ crmId: 'a', score: 10 }]);
    expect(await due(), 'a call since').to.have.length(1);
  });

  it('lists versions with predictions when their organisation has new outcomes, at night and after an import', async () => {
    const organisationId = newId('org');
    const [one, idle, foreign] = [await newModel(organisationId), await newModel(organisationId), await newModel()];
    for (const model of [one, foreign]) await worldOf(model).call(night - 100 * dayMs, [{ crmId: 'a', score: 10 }]);
    for (const model of [one, idle, foreign]) await grade(model);
    await mongo.database
      .collection('model_validation')
      .updateMany({}, { $set: { 'grade.data_read_at': new Date(night - dayMs) } });
    nowMs = night + 25 * hourMs;
    const lead = { crmId: 'a', converted: true, at: new Date(night) };
    await worldOf(one).outcomes([lead], nowMs);
    expect(await due(organisationId), 'after an import').to.deep.equal([`${one._id}:1.0.0`]);
    expect(await due(), 'at night').to.deep.equal([`${one._id}:1.0.0`]);
    expect(await due(foreign.organisation_id)).to.deep.equal([]);
    expect(await verdictOf(idle)).to.have.nested.property('checked.hasNews', false);
  });

  it('lists a current version by day if its organisation has outcomes since its grade of 15 minutes ago', async () => {
    const [own, foreign] = [await newModel(), await newModel()];
    for (const model of [own, foreign]) {
      await worldOf(model).call(night - 10 * dayMs, [{ crmId: 'a', score: 10 }]);
      await grade(model);
    }
    await addVersion(own, '2.0.0');
    await worldOf({ ...own, version: '2.0.0' }).call(night - 10 * dayMs, [{ crmId: 'b', score: 10 }]);
    await grade(own, '2.0.0');
    const gradedMs = nowMs;
    await changeVerdicts({ 'grade.data_read_at': new Date(Date.now() - hourMs) });
    nowMs = gradedMs + quarterMs + 1;
    expect(await due(), 'without outcomes').to.deep.equal([]);
    await worldOf(own).outcomes([{ crmId: 'a', converted: true, at: new Date(night) }], nowMs);
    nowMs = gradedMs + quarterMs - 1;
    expect(await due(), 'too soon').to.deep.equal([]);
    expect(await due(own.organisation_id), 'too soon after outcomes over HTTP').to.deep.equal([]);
    nowMs = gradedMs + quarterMs + 1;
    expect(await due(), 'the current version alone').to.deep.equal([`${own._id}:2.0.0`]);
    await grade(own, '2.0.0');
    const readMs = Date.now() + 2 * 60_000; // as if the outcomes were older than a minute
    await changeVerdicts({ 'grade.data_read_at': new Date(readMs) });
    nowMs += quarterMs + 1;
    expect(await due(), 'once').to.deep.equal([]);
  });

  it('lists a current version by day while too few of its leads were scored, once it has scored since', async () => {
    const [early, quiet] = [await newModel(), await newModel()];
    for (const model of [early, quiet]) {
      await worldOf(model).call(nowMs - 3 * hourMs, [{ crmId: 'a', score: 10 }]);
      await grade(model);
    }
    nowMs += 2 * hourMs;
    expect(await due(), 'without calls').to.deep.equal([]);
    const leads = Array.from({ length: 200 }, (_, lead) => ({ crmId: `lead-${lead}`, score: lead % 100 }));
    await worldOf(early).call(nowMs, leads);
    nowMs += quarterMs - 1;
    expect(await due(), 'too soon').to.deep.equal([]);
    nowMs += 2;
    expect(await due(), 'after a quarter of an hour').to.deep.equal([`${early._id}:1.0.0`]);
    await grade(early);
    expect((await verdictOf(early))?.failing_gate).to.equal('cohort_reconciles');
    await worldOf(early).call(nowMs, [{ crmId: 'one more', score: 10 }]);
    nowMs += 2 * quarterMs;
    expect(await due(), 'once enough leads are counted').to.deep.equal([]);
  });

  it('lists a version at night whose pass is in doubt', async () => {
    const model = await newModel();
    await grade(model);
    await changeVerdicts({ 'grade.doubted_since': new Date(nowMs) });
    nowMs += hourMs;
    expect(await due(), 'by day').to.deep.equal([]);
    nowMs = night + 25 * hourMs;
    expect(await due(), 'at night').to.deep.equal([`${model._id}:1.0.0`]);
  });

  it('lists the current version every night while its predictions mature, and a past version not', async () => {
    const model = await newModel();
    await worldOf(model).call(night - 10 * dayMs, [{ crmId: 'a', score: 10 }]);
    await grade(model);
    nowMs = night + 25 * hourMs;
    expect(await due(), 'current').to.deep.equal([`${model._id}:1.0.0`]);
    await grade(model);
    await addVersion(model, '2.0.0');
    await grade(model, '2.0.0');
    nowMs += dayMs;
    expect(await due(), 'past').to.deep.equal([]);
  });

  it('lists a version whose verdict is of another time than its grade', async () => {
    const [past, ahead] = [await newModel(), await newModel()];
    const deps = { database: mongo.database, clock, redis: undefined };
    await gradeAndPublish(deps, { model: past, version: '1.0.0' }, { asOfMs: nowMs - 50 * dayMs });
    const later = { ...deps, clock: { now: () => nowMs + 100 * dayMs } };
    await gradeAndPublish(later, { model: ahead, version: '1.0.0' });
    expect(await due(), 'at once').to.deep.equal([`${ahead._id}:1.0.0`]);
    nowMs += dayMs;
    expect(await due(), 'the next night').to.have.members([`${past._id}:1.0.0`, `${ahead._id}:1.0.0`]);
  });

  it('lists current versions first, one of each organisation in turn', async () => {
    const [large, small] = [newId('org'), newId('org')];
    const [one, two] = [await newModel(large), await newModel(large)];
    const other = await newModel(small);
    await addVersion(one, '2.0.0');
    expect(await due()).to.deep.equal([
      `${one._id}:2.0.0`,
      `${other._id}:1.0.0`,
      `${two._id}:1.0.0`,
      `${one._id}:1.0.0`,
    ]);
  });
});
