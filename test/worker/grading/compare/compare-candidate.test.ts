import { expect } from 'chai';
import { followCandidates } from '../../../../api/bulk/candidates/follow-candidates.js';
import { dayMs } from '../../../../shared/contract/dates.js';
import { createLogger } from '../../../../shared/process/logger.js';
import { ModelStore } from '../../../../shared/store/models/models.js';
import { ValidationStore } from '../../../../shared/store/validation/model-validation.js';
import { dueVersions } from '../../../../worker/grading/job/due-versions.js';
import { sampleBundle, sampleFeatures } from '../../../support/models/sample-bundle.js';
import { gradingDatabase } from '../grade-at.js';
import { figures } from '../grade-truth.js';
import { CandidateWorld, current, drawLeads, horizonDays, next, startMs } from './candidate-world.js';

const leads = drawLeads(1_000);
/** All have matured. */
const laterMs = startMs + (9 + horizonDays) * dayMs + 1;
const logger = createLogger('silent', 'test');

describe('the grade and the comparison of a candidate', () => {
  const mongo = gradingDatabase();
  const worldOf = (...of: Parameters<typeof drawLeads> | []) =>
    CandidateWorld.of(mongo.database, of.length === 0 ? leads : drawLeads(...of));
  const verdictOf = ({ model }: CandidateWorld, version: string) =>
    new ValidationStore(mongo.database).find(`${model._id}:${version}`, 5_000);
  const conversionsOf = (some: typeof leads) => some.filter(({ converted }) => converted).length;
  const follow = (nowMs = laterMs) =>
    followCandidates({ database: mongo.database, clock: { now: () => nowMs }, logger, leaseMs: 1_000 });

  it('count what it scored, without the leads of its training', async () => {
    const world = await worldOf();
    await world.propose(next, { seenDays: 3 });
    const graded = await world.grade(next, laterMs);
    const judged = leads.slice(300);
    expect(graded.verdict._id).to.equal(`${world.model._id}:${next}`);
    expect(await verdictOf(world, next)).to.deep.equal(graded.verdict);
    expect(figures(graded, 'predictions_recorded')).to.include({ cohort: 700, stored_rows: 700 });
    expect(figures(graded, 'cohort_reconciles')).to.include({ ledger_records: 700, joined: 700, repeats: 0 });
    expect(figures(graded, 'outcomes_observed')).to.include({ conversions: conversionsOf(judged) });
    const bands = graded.verdict.grade?.bands.map(({ records }) => records);
    const bandsOf = (band: number) =>
      judged.filter(({ candidate }) => Math.min(4, Math.floor(candidate / 20)) === band);
    expect(bands).to.deep.equal([0, 1, 2, 3, 4].map((band) => bandsOf(band).length));

    const comparison = await world.comparison();
    expect(comparison).to.include({ base: current, candidate: next, scored: 1_000, seen: 300, leads: 700 });
    expect(comparison).to.include({ conversions: conversionsOf(judged), horizon_days: horizonDays });
    const moved = leads.filter(
      ({ base, candidate }) => Math.min(4, Math.floor(base / 20)) !== Math.min(4, Math.floor(candidate / 20)),
    );
    expect(comparison.moved).to.equal(moved.length / 1_000);
    expect(comparison.moves.flat().reduce((sum, count) => sum + count, 0)).to.equal(1_000);
    expect(comparison.psi.value).to.be.above(comparison.psi.chance_99);
    expect(comparison.missing_fields).to.deep.equal([]);
    expect(comparison.judged_conversions).to.equal(comparison.conversions);
  });

  it('say that a better candidate is better', async () => {
    const world = await worldOf(4_000);
    await world.propose(next);
    await world.grade(next, startMs + (39 + horizonDays) * dayMs + 1);
    const { verdict, lift, auc } = await world.comparison();
    expect(verdict).to.equal('better');
    expect(lift?.difference[1], 'lower bound of the lift').to.be.above(0);
    expect(auc?.difference[1], 'lower bound of the AUC').to.be.above(0);
    expect(lift?.difference[0]).to.be.closeTo((lift?.candidate[0] ?? 0) - (lift?.base[0] ?? 0), 1e-4);
  });

  it('wait for the horizon, and reuse the days of the grade before', async () => {
    const world = await worldOf();
    await world.propose(next);
    const early = await world.grade(next, startMs + 10 * dayMs);
    expect(early.verdict).to.include({ failing_gate: 'matured_cohort' });
    expect(await world.comparison()).to.include({
      verdict: 'too_early',
      leads: 0,
      lift: null,
      judged_conversions: null,
    });
    const half = await world.grade(next, startMs + (4 + horizonDays) * dayMs);
    expect(half.refreshed).to.include({ isRebuild: false });
    expect(figures(half, 'matured_cohort')).to.include({ matured: 500 });
    expect(await world.comparison()).to.include({ leads: 500, conversions: conversionsOf(leads.slice(0, 500)) });
  });

  it('leave out erased leads', async () => {
    const world = await worldOf();
    await world.propose(next);
    await world.grade(next, laterMs);
    for (const crmId of ['L-5', 'L-999']) await world.recorded.erase(crmId);
    const graded = await world.grade(next, laterMs);
    expect(figures(graded, 'predictions_recorded')).to.include({ cohort: 998, stored_rows: 998 });
    const left = leads.filter(({ crmId }) => crmId !== 'L-5' && crmId !== 'L-999');
    expect(figures(graded, 'outcomes_observed')).to.include({ conversions: conversionsOf(left) });
    expect(await world.comparison()).to.include({ scored: 998, leads: 998, conversions: conversionsOf(left) });
  });

  it('find no difference of the current version as its own candidate, whose verdict stays', async () => {
    const world = await worldOf();
    const before = await world.grade(current, laterMs);
    await world.propose(current);
    const { verdict } = await world.grade(current, laterMs);
    expect(verdict).to.deep.equal({ ...before.verdict, grade: { ...before.verdict.grade, ...readAgain(verdict) } });
    const comparison = await world.comparison(current);
    expect(comparison).to.include({ moved: 0, verdict: 'no_worse', leads: 1_000 });
    expect(comparison.psi.value).to.equal(0);
    for (const pair of [comparison.lift, comparison.auc]) {
      expect(pair?.difference).to.deep.equal([0, 0, 0]);
      expect(pair?.candidate).to.deep.equal(pair?.base);
    }
  });

  it('keep counting once the candidate scores calls, and no longer once it is dropped', async () => {
    const world = await worldOf();
    const models = new ModelStore(mongo.database);
    await world.propose(next);
    await world.grade(next, laterMs);
    await models.update(world.model._id, { version: next }, ['candidate']);
    await follow();
    const promoted = await world.grade(next, laterMs + dayMs);
    expect(figures(promoted, 'predictions_recorded'), 'promoted').to.include({ cohort: 1_000 });
    expect(promoted.refreshed).to.include({ isRebuild: false });
    await models.update(world.model._id, { version: current });
    await follow();
    const dropped = await world.grade(next, laterMs + 2 * dayMs);
    expect(figures(dropped, 'predictions_recorded'), 'rolled back').to.include({ cohort: 0 });
  });

  it('name fields that were not recorded with the leads', async () => {
    const industry = { field: 'industry', label: 'Industry', type: 'number', columns: [6], impute: 0 } as const;
    const renamed = {
      ...sampleFeatures[0],
      field: 'employees',
      aliases: ['company_size'],
    } as (typeof sampleFeatures)[0];
    const features = [renamed, ...sampleFeatures.slice(1), industry];
    const bundle = sampleBundle({ version: next, features, weights: [1, 1, 1, 1, 1, 1, 1] });
    const world = await CandidateWorld.of(mongo.database, leads, bundle);
    await world.propose(next);
    await world.grade(next, laterMs);
    expect((await world.comparison()).missing_fields).to.deep.equal(['industry']);
  });

  it('are due once a run has ended, and not before', async () => {
    const world = await worldOf(200);
    const nowMs = Date.now();
    const due = async () =>
      (await dueVersions(mongo.database, { now: () => nowMs }))
        .filter(({ model }) => model._id === world.model._id)
        .map(({ version }) => version);
    for (const version of [current, next]) await world.grade(version, nowMs);
    expect(await due()).to.deep.equal([]);
    await world.propose(next, { state: 'running' });
    expect(await due(), 'running').to.deep.equal([]);
    await world.propose(next);
    expect(await due(), 'completed').to.deep.equal([next]);
    await world.grade(next, nowMs);
    expect(await due(), 'graded').to.deep.equal([]);
    await new ModelStore(mongo.database).update(world.model._id, {}, ['candidate']);
    await world.propose(current);
    expect(await due(), 'the current version as its own candidate').to.have.members([current, next]);
  });
});

/** The members of a grade that another grade of the same data changes. */
const readAgain = ({ grade }: { readonly grade?: { readonly data_read_at: Date } }) => ({
  data_read_at: grade?.data_read_at,
});
