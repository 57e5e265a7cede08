import { expect } from 'chai';
import { type StoredVerdict, ValidationStore } from '../../../shared/store/model-validation.js';
import { dayMs } from '../../../shared/utc-day.js';
import { gradesIn, gradingDatabase, newIds } from './grade-at.js';
import { RecordedWorld, type WorldIds } from './recorded-world.js';

const scoredMs = Date.UTC(2026, 0, 10);
const horizonDays = 20;
const maturedMs = scoredMs + (horizonDays + 1) * dayMs;
const rising = [5, 15, 25, 35, 45];
const flat = [25, 25, 25, 25, 25];

describe('a grade as of an instant that has not come yet', () => {
  const mongo = gradingDatabase();
  const gradeAt = gradesIn(mongo, horizonDays);

  const stored = ({ modelId, version }: WorldIds): Promise<StoredVerdict | undefined> =>
    new ValidationStore(mongo.database).find(`${modelId}:${version}`, 5_000);

  /** Fifty leads in each band, of which so many convert. */
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

  it('says what the verdict would be, and leaves the one of now in force', async () => {
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

  it('that was stored by a clock moved on does not keep a failing model passed', async () => {
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
