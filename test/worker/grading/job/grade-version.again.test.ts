import { expect } from 'chai';
import fc from 'fast-check';
import { dayMs } from '../../../../shared/contract/dates.js';
import type { Graded } from '../../../../worker/grading/job/grade-version.js';
import { gradesIn, gradingDatabase, newIds } from '../grade-at.js';
import { expectTruth as expectTruthOf } from '../grade-truth.js';
import { RecordedWorld } from '../recorded-world.js';

const startMs = Date.UTC(2026, 0, 10);
const horizonDays = 20;
const hourMs = 60 * 60 * 1000;
/** Longer than the tolerance for clock skew and writes in flight. */
const longMs = 10 * 60 * 1000;

/** One event, `hours` after the previous one. */
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
  | {
      readonly kind: 'grade';
      readonly hours: number;
      readonly aheadDays: number;
      /** Whether the service's clock stays at the present, so that a grade of a future date is not stored. */
      readonly isRehearsal: boolean;
      /** Whether later events are certain to be after the grade, or could be concurrent with it. */
      readonly isLongAgo: boolean;
    };

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
      isRehearsal: fc.boolean(),
      isLongAgo: fc.boolean(),
    }),
  },
);

const lastGrade: Step = { kind: 'grade', hours: 1, aheadDays: 0, isRehearsal: false, isLongAgo: false };

describe('gradeVersion after earlier grades', () => {
  const mongo = gradingDatabase();
  const gradeAt = gradesIn(mongo, horizonDays);

  it('returns the figures by definition after any calls, outcomes, erasures and grades', async function () {
    this.timeout(120_000);
    await fc.assert(
      fc.asyncProperty(fc.array(stepArbitrary, { minLength: 10, maxLength: 40 }), async (steps) => {
        const ids = newIds();
        const world = new RecordedWorld(mongo.database, ids);
        let nowMs = startMs;
        for (const step of [...steps, lastGrade]) {
          nowMs += step.hours * hourMs + 1;
          if (step.kind === 'grade') {
            const asOfMs = nowMs + step.aheadDays * dayMs;
            const clockMs = step.isRehearsal ? nowMs : asOfMs;
            expectTruth(await gradeAt(ids, asOfMs, { nowMs: clockMs }), world, asOfMs);
            if (step.isLongAgo) await world.age(longMs);
          } else await happen(world, step, nowMs);
        }
        expectTruth(await gradeAt(ids, nowMs, { rebuild: true }), world, nowMs);
      }),
      { numRuns: 12 },
    );
  });

  it('recomputes only days that have changed', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    for (let day = 0; day < 40; day += 1)
      await world.call(startMs + day * dayMs + hourMs, [{ crmId: `lead ${day}`, score: 50 }]);
    const asOf = (days: number) => startMs + days * dayMs;
    const first = await gradeAt(ids, asOf(40));
    expect(first.refreshed).to.deep.include({ days: 40, isRebuild: true });
    const again = await gradeAt(ids, asOf(40));
    expect(again.refreshed).to.deep.include({ days: 1, isRebuild: false }); // the day of the cut
    await world.outcomes([{ crmId: 'lead 7', converted: true, at: new Date(asOf(9)) }], asOf(40));
    await world.call(asOf(40), [{ crmId: 'lead 41', score: 50 }]);
    const third = await gradeAt(ids, asOf(40.5));
    // Day 7, day 40 and the day of the cut.
    expect(third.refreshed).to.deep.include({ days: 3, isRebuild: false });
    expectTruth(third, world, asOf(40.5));
  });

  it('applies changed outcomes to single leads without recomputing their days', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    const asOf = startMs + 40 * dayMs;
    for (let day = 0; day < 40; day += 1)
      await world.call(
        startMs + day * dayMs + hourMs,
        ['a', 'b'].map((which) => ({ crmId: `${which}${day}`, score: 50 })),
      );
    const converted = (crmId: string, days: number) => ({
      crmId,
      converted: true,
      at: new Date(startMs + days * dayMs),
    });
    const open = (crmId: string) => ({ crmId, converted: false, at: new Date(startMs) });
    await world.outcomes([open('a3'), open('b3'), converted('a4', 9), converted('b4', 1)], asOf);
    await world.age(longMs);
    expectTruth(await gradeAt(ids, asOf), world, asOf);
    await world.age(longMs);
    // Converts, gets its first outcome, is reopened, converted before the prediction, converts in time.
    const news = [converted('a3', 9), converted('a5', 60), open('a4'), converted('a6', 2), converted('b4', 9)];
    await world.outcomes([...news, open('b3')], asOf);
    const second = await gradeAt(ids, asOf);
    expect(second.refreshed).to.deep.include({ days: 1, adjusted: 4, isRebuild: false });
    expectTruth(second, world, asOf);
    const days = () => mongo.database.collection('validation_daily').find({ org: ids.organisationId }).toArray();
    const bandsAfter = (await days()).map(({ bands }) => bands);
    await world.age(longMs);
    await gradeAt(ids, asOf, { rebuild: true });
    expect((await days()).map(({ bands }) => bands)).to.deep.equal(bandsAfter);
    // An outcome that changed twice since the grade hides what its day counted, so the day is recomputed.
    await world.age(longMs);
    for (const word of [open('a7'), converted('a7', 12)]) await world.outcomes([word], asOf);
    const third = await gradeAt(ids, asOf);
    expect(third.refreshed).to.deep.include({ days: 2, adjusted: 0, isRebuild: false });
    expectTruth(third, world, asOf);
  });

  it('applies changes on days that the previous grade did not cover', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    const asOf = startMs + 30 * dayMs;
    await world.call(startMs, [{ crmId: 'a', score: 50 }]);
    await gradeAt(ids, asOf);
    await world.age(longMs);
    await world.outcomes([{ crmId: 'a', converted: true, at: new Date(startMs + dayMs) }], asOf);
    await world.age(longMs);
    await gradeAt(ids, asOf + 500 * dayMs);
    await world.age(longMs);
    expectTruth(await gradeAt(ids, asOf), world, asOf);
  });

  it('recomputes all days once a week, and with the rebuild option', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    await world.call(startMs, [{ crmId: 'a', score: 50 }]);
    await gradeAt(ids, startMs + dayMs);
    expect((await gradeAt(ids, startMs + dayMs, { rebuild: true })).refreshed.isRebuild).to.equal(true);
    expect((await gradeAt(ids, startMs + dayMs)).refreshed.isRebuild).to.equal(false);
    const verdicts = mongo.database.collection('model_validation');
    const weekAgo = new Date(Date.now() - 7 * dayMs - 1000);
    await verdicts.updateMany({ organisation_id: ids.organisationId }, { $set: { 'grade.rebuilt_at': weekAgo } });
    expect((await gradeAt(ids, startMs + dayMs)).refreshed.isRebuild).to.equal(true);
  });
});

const expectTruth = (graded: Graded, world: RecordedWorld, asOfMs: number): void =>
  expectTruthOf(graded, world, { asOfMs, horizonDays });

async function happen(world: RecordedWorld, step: Exclude<Step, { kind: 'grade' }>, nowMs: number): Promise<void> {
  if (step.kind === 'erase') return world.erase(`lead ${step.lead}`);
  if (step.kind === 'call') {
    const rows = step.leads.map((number, row) => ({
      crmId: number < 0 ? undefined : `lead ${number}`,
      score: (step.score + 7 * row) % 101,
    }));
    return world.call(nowMs, rows);
  }
  const at = new Date(nowMs + (step.delayDays ?? 0) * dayMs);
  return world.outcomes([{ crmId: `lead ${step.lead}`, converted: step.delayDays !== null, at }], nowMs);
}
