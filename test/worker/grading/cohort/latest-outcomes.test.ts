import { expect } from 'chai';
import { dayMs } from '../../../../shared/contract/dates.js';
import { compareLatestOutcomes, formOf } from '../../../../worker/grading/cohort/latest-outcomes.js';
import { gradesIn, gradingDatabase, newIds } from '../grade-at.js';
import { figures } from '../grade-truth.js';
import { RecordedWorld } from '../recorded-world.js';

const startMs = Date.UTC(2026, 0, 10);

describe('outcomes of leads that were never scored', () => {
  const mongo = gradingDatabase();
  const gradeAt = gradesIn(mongo, 90);
  const leads = Array.from({ length: 250 }, (_, index) => `LED-${String(index).padStart(3, '0')}`);

  const worldWith = async (...outcomes: readonly string[]) => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    await world.call(
      startMs,
      leads.map((crmId, index) => ({ crmId, score: index % 101 })),
    );
    await world.outcomes(
      outcomes.map((crmId) => ({ crmId, converted: false, at: new Date(startMs) })),
      startMs + dayMs,
    );
    return { ids, world };
  };

  it('are named in the verdict when they are most of the latest, with the form of an id of each side', async () => {
    const { ids } = await worldWith(...leads.map((crmId) => crmId.replace('LED-', 'led_')));
    const graded = await gradeAt(ids, startMs + 2 * dayMs);
    expect(graded.verdict).to.include({ state: 'too_early_to_grade', failing_gate: 'cohort_reconciles' });
    expect(graded.verdict.summary).to.equal(
      'Too early to grade at cohort_reconciles: no outcome data covers the cohort of 250 predictions; ' +
        '200 of the latest 200 outcomes name no scored lead: ' +
        'a crm_id of theirs has the form "aaa_999", one of a scored lead "AAA-999".',
    );
    expect(figures(graded, 'cohort_reconciles')).to.include({ latest_outcomes: 200, latest_outcomes_unscored: 200 });
  });

  it('are named in the failed verdict of a cohort that outcome data names in part', async () => {
    const { ids } = await worldWith(...leads.slice(0, 60), ...leads.slice(60).map((crmId) => `x${crmId}`));
    const { verdict } = await gradeAt(ids, startMs + 2 * dayMs);
    expect(verdict.summary).to.match(
      /^Failed at cohort_reconciles: outcome data names 60 of 250 .+; 1\d\d of the latest 200 outcomes name no scored lead: .+ "aAAA-999", one of a scored lead "AAA-999"\.$/,
    );
  });

  it('are not named when they are the lesser part, nor without any outcome', async () => {
    const { ids } = await worldWith(...leads.slice(0, 120), ...leads.slice(120, 200).map((crmId) => `x${crmId}`));
    const { verdict } = await gradeAt(ids, startMs + 2 * dayMs);
    expect(verdict.summary).to.match(/^Failed at cohort_reconciles: outcome data names 120 of 250[^;]+$/);
    const none = await worldWith();
    expect((await gradeAt(none.ids, startMs + 2 * dayMs)).verdict.summary).to.match(
      /^Too early to grade at cohort_reconciles: no outcome data covers the cohort of 250 predictions yet/,
    );
  });

  it('are compared with the leads of their own organisation, and the latest 200 only', async () => {
    const { ids, world } = await worldWith(...leads.slice(0, 50), ...leads.map((crmId) => `x${crmId}`));
    await world.age(60_000);
    await world.outcomes(
      leads.slice(50).map((crmId) => ({ crmId, converted: false, at: new Date(startMs) })),
      startMs + dayMs,
    );
    const compare = (organisationId: string) => compareLatestOutcomes(mongo.database, organisationId);
    expect(await compare(ids.organisationId)).to.deep.equal({ outcomes: 200, unscored: 0, forms: undefined });
    const other = newIds();
    await new RecordedWorld(mongo.database, other).outcomes(
      [{ crmId: leads[0] ?? '', converted: true, at: new Date(startMs) }],
      startMs,
    );
    expect(await compare(other.organisationId)).to.deep.equal({
      ...{ outcomes: 1, unscored: 1 },
      forms: undefined,
    });
  });

  it('have a form without the letters and digits of the id', () => {
    for (const [id, form] of [
      ['00Q5g00000ABcDe', '99A9a99999AAaAa'],
      ['Ada.Öz@example.com', 'Aaa.Aa@aaaaaaa.aaa'],
      ['日本-１', 'aa-9'],
      ['A A\u0301', 'A A'],
      ['x'.repeat(255), `${'a'.repeat(29)}…`],
      ['🦊\n', '??'],
    ] as const)
      expect(formOf(id)).to.equal(form);
  });
});
