import { expect } from 'chai';
import { dayMs } from '../../../../shared/contract/dates.js';
import { callsCollection } from '../../../../shared/store/calls/prediction-segment.js';
import { type StoredVerdict, ValidationStore } from '../../../../shared/store/validation/model-validation.js';
import { removePredictions } from '../../../support/service/prediction-rows.js';
import { gradesIn, gradingDatabase, newIds } from '../grade-at.js';
import { figures } from '../grade-truth.js';
import { RecordedWorld, type WorldIds } from '../recorded-world.js';

const startMs = Date.UTC(2026, 0, 10);
const horizonDays = 20;
const hourMs = 60 * 60 * 1000;

describe('gradeVersion', () => {
  const mongo = gradingDatabase();
  const gradeAt = gradesIn(mongo, horizonDays);

  it('counts conversions after the prediction and up to the last millisecond of the horizon', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    const ends = startMs + horizonDays * dayMs;
    await world.call(
      startMs,
      ['in', 'late', 'same', 'after'].map((crmId) => ({ crmId, score: 90 })),
    );
    const at = { in: ends, late: ends + 1, same: startMs, after: startMs + 1 };
    await world.outcomes(
      Object.entries(at).map(([crmId, ms]) => ({ crmId, converted: true, at: new Date(ms) })),
      ends,
    );
    const before = await gradeAt(ids, ends - 1);
    expect(figures(before, 'matured_cohort')).to.include({ matured: 0 });
    const graded = await gradeAt(ids, ends);
    expect(figures(graded, 'matured_cohort')).to.include({ matured: 3, matured_and_joined: 3 });
    expect(figures(graded, 'outcomes_observed')).to.include({ conversions: 2, non_conversions: 1 });
    expect(figures(graded, 'cohort_reconciles')).to.include({ excluded: 1 });
  });

  it('counts the first conversion of a lead that converts again after the horizon, reported in one call or in two', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    const leads = ['one call', 'two calls', 'before and after', 'lost between', 'late'];
    await world.call(
      startMs,
      leads.map((crmId) => ({ crmId, score: 90 })),
    );
    const won = (crmId: string, day: number) => ({ crmId, converted: true, at: new Date(startMs + day * dayMs) });
    const asOfMs = startMs + 41 * dayMs;
    await world.outcomes([won('one call', 3), won('one call', 40)], asOfMs);
    await world.outcomes([won('two calls', 3), won('before and after', -1), won('lost between', 3)], asOfMs);
    await world.outcomes([{ ...won('lost between', 10), converted: false }, won('late', 40)], asOfMs);
    await gradeAt(ids, asOfMs);
    await world.age(60 * hourMs);
    const again = ['two calls', 'before and after', 'lost between'].map((crmId) => won(crmId, 40));
    await world.outcomes(again, asOfMs);
    for (const rebuild of [false, true]) {
      const graded = await gradeAt(ids, asOfMs, { rebuild });
      expect(figures(graded, 'cohort_reconciles')).to.include({ cohort: 4, joined: 4, excluded: 1 });
      expect(figures(graded, 'outcomes_observed')).to.include({ conversions: 2, non_conversions: 2 });
    }
  });

  it('says that a model with two scores cannot get a verdict, before and after the horizon', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    const leads = Array.from({ length: 250 }, (_, index) => ({
      crmId: `lead ${index}`,
      score: index % 5 === 0 ? 95 : 15,
    }));
    await world.call(startMs, leads);
    await world.outcomes(
      leads.map(({ crmId }, index) => ({ crmId, converted: index < 40, at: new Date(startMs + 5 * dayMs) })),
      startMs + dayMs,
    );
    const unreachable =
      'the 250 scores fall into 2 of the 5 score bands, and a verdict needs 3, so the model must give more different scores.';
    const summaryAfter = async (days: number) => (await gradeAt(ids, startMs + days * dayMs)).verdict.summary;
    expect(await summaryAfter(1)).to.equal(
      `Too early to grade at matured_cohort: 0 of 200 required predictions have completed the 20-day window; ${unreachable}`,
    );
    expect(await summaryAfter(horizonDays)).to.equal(`Too early to grade at outcomes_observed: ${unreachable}`);
  });

  it('covers the predictions that matured in the last 365 days', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    for (let day = 0; day < 3; day += 1) await world.call(startMs + day * dayMs, [{ crmId: `lead ${day}`, score: 50 }]);
    const cohort = async (days: number) =>
      figures(await gradeAt(ids, startMs + days * dayMs), 'predictions_recorded').cohort;
    expect(await cohort(horizonDays + 364)).to.equal(3);
    expect(await cohort(horizonDays + 365)).to.equal(2);
    expect(await cohort(horizonDays + 366)).to.equal(1);
    expect(await cohort(horizonDays + 364)).to.equal(3);
  });

  it('passes a failed model by newly matured conversions after the old ones left the window', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    /** Records 100 leads per band and the given number of conversions per band. */
    const recordLeads = async (atMs: number, conversions: readonly number[]): Promise<void> => {
      const leads = conversions.flatMap((count, band) =>
        Array.from({ length: 100 }, (_, lead) => ({
          crmId: `${atMs} ${band} ${lead}`,
          score: 20 * band + 10,
          converted: lead < count,
        })),
      );
      await world.call(atMs, leads);
      const words = leads.map(({ crmId, converted }) => ({ crmId, converted, at: new Date(atMs + dayMs) }));
      await world.outcomes(words, atMs + dayMs);
    };
    await recordLeads(startMs, [60, 60, 60, 60, 60]);
    const flat = await gradeAt(ids, startMs + horizonDays * dayMs);
    expect(flat.verdict).to.include({ state: 'failed', failing_gate: 'rate_rises_with_band' });
    const laterMs = startMs + 365 * dayMs;
    await recordLeads(laterMs, [1, 2, 5, 15, 36]);
    const fewMore = await gradeAt(ids, laterMs + horizonDays * dayMs);
    expect(figures(fewMore, 'outcomes_observed')).to.include({ conversions: 59 });
    expect(fewMore.verdict).to.include({ state: 'failed', failing_gate: 'rate_rises_with_band' });
    expect(fewMore.verdict.summary).to.include('60 more conversions').and.include('59 have come since');
    await recordLeads(laterMs + dayMs, [0, 0, 0, 0, 1]);
    const enoughMore = await gradeAt(ids, laterMs + (horizonDays + 1) * dayMs);
    expect(enoughMore.verdict).to.include({ state: 'passed', failing_gate: null });
  });

  it('fails predictions_recorded only for counted calls within the window', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    await world.call(startMs, [{ crmId: 'a', score: 50 }]);
    await removePredictions(mongo.database, ids.organisationId);
    const stateAt = async (ms: number) => (await gradeAt(ids, startMs + ms, { rebuild: true })).verdict;
    expect(await stateAt(dayMs - 1)).to.include({
      state: 'too_early_to_grade',
      failing_gate: 'predictions_recorded',
    });
    expect(await stateAt(dayMs)).to.include({ state: 'failed', failing_gate: 'predictions_recorded' });
    const gone = await stateAt((horizonDays + 365) * dayMs);
    expect(gone).to.include({ state: 'too_early_to_grade', failing_gate: 'predictions_recorded' });
  });

  it('ignores calls of test keys, which store no predictions', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    await world.call(startMs, [{ crmId: 'a', score: 50 }]);
    await removePredictions(mongo.database, ids.organisationId);
    const calls = mongo.database.collection(callsCollection);
    await calls.updateMany({ org: ids.organisationId }, { $set: { bucket: 'test' } });
    const early = { state: 'too_early_to_grade', failing_gate: 'predictions_recorded' };
    expect((await gradeAt(ids, startMs + 2 * dayMs)).verdict).to.include(early);
    const rows = Array.from({ length: 200 }, (_, lead) => ({ crmId: `lead ${lead}`, score: 50 }));
    await world.call(startMs, rows);
    const graded = await gradeAt(ids, startMs + 2 * dayMs, { rebuild: true });
    expect(graded.verdict, 'the ledger counts 200 as well').to.include({
      ...early,
      failing_gate: 'cohort_reconciles',
    });
    expect(figures(graded, 'cohort_reconciles')).to.include({ ledger_records: 200, stored_rows: 200 });
  });

  it('counts a lead that was first scored before the window as a repeat', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    const later = startMs + 500 * dayMs;
    await world.call(startMs, [{ crmId: 'old', score: 50 }]);
    await world.call(later, [
      { crmId: 'old', score: 50 },
      { crmId: 'new', score: 50 },
    ]);
    expect(figures(await gradeAt(ids, later + dayMs), 'cohort_reconciles')).to.include({
      stored_rows: 2,
      cohort: 1,
      repeats: 1,
    });
  });

  it('does not expect outcome data for leads scored on a day after the newest outcome arrived', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    await world.call(
      startMs,
      ['a', 'b'].map((crmId) => ({ crmId, score: 50 })),
    );
    await world.outcomes([{ crmId: 'a', converted: false, at: new Date(startMs) }], startMs + hourMs);
    await world.call(
      startMs + dayMs,
      ['c', 'd', 'e'].map((crmId) => ({ crmId, score: 50 })),
    );
    const joined = async () => figures(await gradeAt(ids, startMs + 2 * dayMs), 'cohort_reconciles');
    expect(await joined()).to.include({ cohort: 5, joined: 1, joinable: 2 });
    await world.outcomes([{ crmId: 'c', converted: false, at: new Date(startMs) }], startMs + 2 * dayMs);
    expect(await joined()).to.include({ cohort: 5, joined: 2, joinable: 5 });
  });

  it('stores one verdict after three concurrent grades', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    await world.call(startMs, [{ crmId: 'a', score: 50 }]);
    const all = await Promise.all([1, 2, 3].map((days) => gradeAt(ids, startMs + days * dayMs)));
    expect(all.map(({ verdict }) => verdict.state)).to.deep.equal(Array(3).fill('too_early_to_grade'));
    const stored = await mongo.database
      .collection('model_validation')
      .countDocuments({ organisation_id: ids.organisationId });
    expect(stored).to.equal(1);
  });
});

const scoredMs = Date.UTC(2026, 0, 10);
const maturedMs = scoredMs + (horizonDays + 1) * dayMs;
const rising = [5, 15, 25, 35, 45];
const flat = [25, 25, 25, 25, 25];

describe('gradeVersion after an earlier grade', () => {
  const mongo = gradingDatabase();
  const gradeAt = gradesIn(mongo, horizonDays);

  const stored = ({ modelId, version }: WorldIds): Promise<StoredVerdict | undefined> =>
    new ValidationStore(mongo.database).find(`${modelId}:${version}`, 5_000);

  /** Records outcomes of 50 leads per band, with the given number of conversions. */
  const report = async (world: RecordedWorld, conversions: readonly number[]): Promise<void> =>
    await world.outcomes(
      leads.map(({ crmId, band, number }) => ({
        crmId,
        converted: number < (conversions[band] ?? 0),
        at: new Date(scoredMs + dayMs),
      })),
      scoredMs + dayMs,
    );

  const worldOf = async (ids: WorldIds): Promise<RecordedWorld> => {
    const world = new RecordedWorld(mongo.database, ids);
    await world.call(
      scoredMs,
      leads.map(({ crmId, band }) => ({ crmId, score: 20 * band + 10 })),
    );
    await report(world, rising);
    return world;
  };

  it('keeps a pass while half of an import has arrived, and ends it 20 hours after the first failing grade', async () => {
    const ids = newIds();
    const world = await worldOf(ids);
    const hoursLater = async (hours: number) => (await gradeAt(ids, maturedMs + hours * hourMs)).verdict;
    expect(await hoursLater(0)).to.include({ state: 'passed' });
    await report(world, [0, 0, 0, 0, 0]); // the file has each lead first as open, then as won
    const half = await hoursLater(0.25);
    expect(half).to.include({ state: 'passed', failing_gate: null });
    expect(half.grade).to.not.include({ state: 'passed' });
    expect(half.grade?.doubted_since).to.deep.equal(new Date(maturedMs + hourMs / 4));
    expect(await hoursLater(19)).to.include({ state: 'passed' });
    await report(world, rising);
    const whole = await hoursLater(21);
    expect(whole).to.include({ state: 'passed' });
    expect(whole.grade).to.include({ state: 'passed' }).and.to.not.have.property('doubted_since');
    await report(world, flat);
    expect(await hoursLater(22)).to.include({ state: 'passed' });
    expect(await hoursLater(42)).to.include({ state: 'failed', failing_gate: 'rate_rises_with_band' });
  });

  it('returns the verdict of a rehearsal and keeps the stored verdict', async () => {
    const ids = newIds();
    await worldOf(ids);
    const nowMs = scoredMs + 2 * dayMs;
    const { verdict: ofNow } = await gradeAt(ids, nowMs);
    expect(ofNow).to.include({ state: 'too_early_to_grade', failing_gate: 'matured_cohort' });
    const rehearsal = await gradeAt(ids, maturedMs, { nowMs });
    expect(rehearsal).to.include({ isRehearsal: true });
    expect(rehearsal.verdict).to.include({ state: 'passed', failing_gate: null });
    expect(await stored(ids)).to.deep.equal(ofNow);
  });

  it('does not hold a pass that was stored with a future date', async () => {
    const ids = newIds();
    const world = await worldOf(ids);
    expect((await gradeAt(ids, maturedMs + 10 * dayMs)).verdict).to.include({ state: 'passed' });
    await report(world, flat);
    await gradeAt(ids, maturedMs);
    expect(await stored(ids)).to.include({ state: 'failed', failing_gate: 'rate_rises_with_band' });
  });
});

const leads = Array.from({ length: 250 }, (_, index) => {
  const [band, number] = [index % 5, Math.floor(index / 5)];
  return { crmId: `${band}-${number}`, band, number };
});
