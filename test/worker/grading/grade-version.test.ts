import { expect } from 'chai';
import fc from 'fast-check';
import { newId } from '../../../shared/identifiers.js';
import { connectMongo, type Mongo } from '../../../shared/store/connect.js';
import { prepareDatabase } from '../../../shared/store/prepare.js';
import { dayMs } from '../../../shared/utc-day.js';
import type { FailingGate } from '../../../shared/verdict.js';
import { type Graded, gradeVersion } from '../../../worker/grading/grade-version.js';
import { freshDatabases } from '../../support/servers.js';
import { RecordedWorld, type WorldIds } from './recorded-world.js';

const startMs = Date.UTC(2026, 0, 10);
const horizonDays = 20;
const hourMs = 60 * 60 * 1000;

/** One thing that happens, `hours` after the one before. */
type Step =
  | {
      readonly kind: 'call';
      readonly hours: number;
      readonly leads: readonly number[];
      readonly score: number;
    }
  | {
      readonly kind: 'outcome';
      readonly hours: number;
      readonly lead: number;
      readonly delayDays: number | null;
    }
  | { readonly kind: 'erase'; readonly hours: number; readonly lead: number }
  | { readonly kind: 'grade'; readonly hours: number; readonly aheadDays: number };

const lead = fc.nat(30);
const hours = fc.integer({ min: 0, max: 60 });
const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('call' as const),
      hours,
      // -1 is a record without a crm_id.
      leads: fc.array(fc.oneof(lead, fc.constant(-1)), { minLength: 1, maxLength: 8 }),
      score: fc.nat(100),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('outcome' as const),
      hours,
      lead,
      delayDays: fc.oneof(fc.constant(null), fc.integer({ min: -30, max: 30 })),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('erase' as const), hours, lead }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('grade' as const),
      hours,
      aheadDays: fc.constantFrom(0, 0, 0, 5, 25),
    }),
  },
);

describe('grading a version from what was recorded', () => {
  let mongo: Mongo;

  before(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
    await prepareDatabase(mongo.database);
  });

  after(() => mongo.client.close());

  const newIds = (): WorldIds => ({ organisationId: newId('org'), modelId: newId('mdl'), version: '1' });

  const gradeAt = (ids: WorldIds, asOfMs: number, rebuild = false): Promise<Graded> =>
    gradeVersion({
      database: mongo.database,
      ...ids,
      facts: { horizon_days: horizonDays },
      asOfMs,
      nowMs: asOfMs,
      rebuild,
    });

  it('is what the definitions say, whatever has happened since the grade before', async function () {
    this.timeout(120_000);
    await fc.assert(
      fc.asyncProperty(fc.array(stepArbitrary, { minLength: 10, maxLength: 40 }), async (steps) => {
        const ids = newIds();
        const world = new RecordedWorld(mongo.database, ids);
        let nowMs = startMs;
        for (const step of [...steps, { kind: 'grade', hours: 1, aheadDays: 0 } as const]) {
          nowMs += step.hours * hourMs + 1;
          if (step.kind === 'grade') {
            const asOfMs = nowMs + step.aheadDays * dayMs;
            expectTruth(await gradeAt(ids, asOfMs), world, asOfMs);
          } else await happen(world, step, nowMs);
        }
        expectTruth(await gradeAt(ids, nowMs, true), world, nowMs);
      }),
      { numRuns: 12 },
    );
  });

  it('computes only the days that have changed', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    for (let day = 0; day < 40; day += 1)
      await world.call(startMs + day * dayMs + hourMs, [{ crmId: `lead ${day}`, score: 50 }]);
    const asOf = (days: number) => startMs + days * dayMs;
    const first = await gradeAt(ids, asOf(40));
    expect(first.refreshed).to.deep.include({ days: 40, isRebuild: true });
    const again = await gradeAt(ids, asOf(40));
    expect(again.refreshed).to.deep.include({ days: 1, isRebuild: false }); // the day on which the horizon ends
    await world.outcomes([{ crmId: 'lead 7', converted: true, at: new Date(asOf(9)) }], asOf(40));
    await world.call(asOf(40), [{ crmId: 'lead 41', score: 50 }]);
    const third = await gradeAt(ids, asOf(40.5));
    expect(third.refreshed).to.deep.include({ days: 3, isRebuild: false }); // day 7, day 40 and the horizon's
    expectTruth(third, world, asOf(40.5));
  });

  it('computes everything anew once a week, and when it is told to', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    await world.call(startMs, [{ crmId: 'a', score: 50 }]);
    await gradeAt(ids, startMs + dayMs);
    expect((await gradeAt(ids, startMs + dayMs, true)).refreshed.isRebuild).to.equal(true);
    expect((await gradeAt(ids, startMs + dayMs)).refreshed.isRebuild).to.equal(false);
    const verdicts = mongo.database.collection('model_validation');
    const weekAgo = new Date(Date.now() - 7 * dayMs - 1000);
    await verdicts.updateMany(
      { organisation_id: ids.organisationId },
      { $set: { 'grade.rebuilt_at': weekAgo } },
    );
    expect((await gradeAt(ids, startMs + dayMs)).refreshed.isRebuild).to.equal(true);
  });

  it('a conversion counts up to the end of the horizon, to the millisecond, and not at the prediction itself', async () => {
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

  it('looks back 365 days from the day on which predictions matured', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    for (let day = 0; day < 3; day += 1)
      await world.call(startMs + day * dayMs, [{ crmId: `lead ${day}`, score: 50 }]);
    const cohort = async (days: number) =>
      figures(await gradeAt(ids, startMs + days * dayMs), 'predictions_recorded').cohort;
    expect(await cohort(horizonDays + 364)).to.equal(3);
    expect(await cohort(horizonDays + 365)).to.equal(2);
    expect(await cohort(horizonDays + 366)).to.equal(1);
    expect(await cohort(horizonDays + 364)).to.equal(3);
  });

  it('says that nothing is stored of calls within the window only: a version that is no longer used has none', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    await world.call(startMs, [{ crmId: 'a', score: 50 }]);
    await mongo.database.collection('predictions').deleteMany({ org: ids.organisationId });
    const stateAt = async (ms: number) => (await gradeAt(ids, startMs + ms, true)).verdict;
    expect(await stateAt(dayMs - 1)).to.include({
      state: 'too_early_to_grade',
      failing_gate: 'predictions_recorded',
    });
    expect(await stateAt(dayMs)).to.include({ state: 'failed', failing_gate: 'predictions_recorded' });
    const gone = await stateAt((horizonDays + 365) * dayMs);
    expect(gone).to.include({ state: 'too_early_to_grade', failing_gate: 'predictions_recorded' });
  });

  it('a repeat of a lead first scored before the window is still a repeat', async () => {
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

  it('a call that arrives over midnight is counted on the day of its rows', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    const midnight = startMs + 3 * dayMs;
    await world.call(midnight + 1000, [{ crmId: 'a', score: 50 }], 5_000);
    const graded = await gradeAt(ids, midnight + dayMs);
    expect(figures(graded, 'cohort_reconciles')).to.include({
      stored_rows: 1,
      mismatched_requests: 0,
      cohort: 1,
    });
    await world.outcomes([{ crmId: 'a', converted: false, at: new Date(midnight) }], midnight + dayMs);
    expect(figures(await gradeAt(ids, midnight + dayMs), 'cohort_reconciles')).to.include({ joined: 1 });
  });

  it('leads that were scored on a day after the newest outcome data came need not be named yet', async () => {
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

  it('two grades at once leave one verdict, weighed against the one before it', async () => {
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

async function happen(
  world: RecordedWorld,
  step: Exclude<Step, { kind: 'grade' }>,
  nowMs: number,
): Promise<void> {
  if (step.kind === 'erase') return world.erase(`lead ${step.lead}`);
  if (step.kind === 'call') {
    const rows = step.leads.map((number, row) => ({
      crmId: number < 0 ? undefined : `lead ${number}`,
      score: (step.score + 7 * row) % 101,
    }));
    return world.call(nowMs, rows, nowMs % 100_000);
  }
  const at = new Date(nowMs + (step.delayDays ?? 0) * dayMs);
  return world.outcomes([{ crmId: `lead ${step.lead}`, converted: step.delayDays !== null, at }], nowMs);
}

function figures({ verdict }: Graded, gate: FailingGate): Readonly<Record<string, number>> {
  const found = verdict.grade?.gates.find((each) => each.gate === gate);
  if (found === undefined) throw new Error(`no gate ${gate}`);
  return found.figures;
}

function expectTruth(graded: Graded, world: RecordedWorld, asOfMs: number): void {
  const truth = world.truth(asOfMs, horizonDays);
  const { repeats, withoutCrmId, excluded, erased } = truth.leftOut;
  expect(figures(graded, 'cohort_reconciles')).to.include({
    mismatched_requests: 0,
    cohort: truth.cohort,
    joined: truth.joined,
    repeats,
    without_crm_id: withoutCrmId,
    excluded,
    erased,
  });
  expect(figures(graded, 'matured_cohort')).to.include({ matured: truth.matured });
  const bands = graded.verdict.grade?.bands.map(({ records, conversions }) => ({ records, conversions }));
  expect(bands).to.deep.equal(truth.bands.map(({ records, conversions }) => ({ records, conversions })));
  const expected = truth.bands.reduce((sum, band) => sum + band.expected, 0);
  expect(figures(graded, 'outcomes_observed').expected_conversions).to.be.closeTo(expected, 1e-3);
}
