import { expect } from 'chai';
import type { FailingGate } from '../../../../shared/contract/verdict.js';
import type { GradedDays } from '../../../../worker/grading/cohort/sum-days.js';
import type { Grade } from '../../../../worker/grading/gates/grade-cohort.js';
import { type Standing, settledState } from '../../../../worker/grading/gates/settled-state.js';

const grade = (state: Grade['state'], conversions: number, failingGate: FailingGate | null = null): Grade => ({
  state,
  failingGate,
  summary: `${state} with ${conversions}.`,
  gates: [],
  bands: [],
  conversions,
});
const passed = (conversions: number): Grade => grade('passed', conversions);
const failed = (conversions: number, gate: FailingGate = 'top_band_lift'): Grade => grade('failed', conversions, gate);
const tooEarly = (conversions: number): Grade => grade('too_early_to_grade', conversions, 'matured_cohort');

/** A window that began with the model: additional conversions are of later days. */
const growing: GradedDays = { cutDay: 1_000, conversionsAfter: () => 0 };
/** A full window with the given number of conversions after the cut day of `growing`. */
const full = (conversions: number): GradedDays => ({
  cutDay: 1_100,
  conversionsAfter: (day) => (day === growing.cutDay ? conversions : 0),
});

/** The states after each grade of a sequence. */
function statesAfter(grades: readonly (Grade | readonly [Grade, GradedDays])[]): string[] {
  let standing: Standing | undefined;
  return grades.map((each) => {
    const [grade, days] = 'state' in each ? [each, growing] : each;
    standing = settledState(grade, standing, days);
    return standing.state;
  });
}

describe('settledState', () => {
  it('returns the state of the first grade', () => {
    expect(statesAfter([passed(40)])).to.deep.equal(['passed']);
    expect(statesAfter([failed(40)])).to.deep.equal(['failed']);
    expect(statesAfter([tooEarly(0)])).to.deep.equal(['too_early_to_grade']);
  });

  it('changes from passed to failed at the second consecutive failing grade of any gate', () => {
    expect(statesAfter([passed(40), failed(41), failed(42, 'cohort_reconciles')])).to.deep.equal([
      'passed',
      'passed',
      'failed',
    ]);
    const broken = [passed(40), failed(41), passed(42), failed(43), tooEarly(0), passed(44), failed(45)];
    expect(statesAfter(broken)).to.deep.equal([
      'passed',
      'passed',
      'passed',
      'passed',
      'too_early_to_grade',
      'passed',
      'passed',
    ]);
  });

  it('names the failing gate in the summary of a pass that is held after one failing grade', () => {
    const held = settledState(failed(41), settledState(passed(40), undefined, growing), growing);
    expect(held.summary).to.equal(
      'passed with 40; the latest grade did not clear top_band_lift, ' +
        'and a second one in a row would fail the model.',
    );
  });

  it('changes from failed to passed only with 20 % additional conversions', () => {
    expect(statesAfter([failed(40), passed(47)])).to.deep.equal(['failed', 'failed']);
    expect(statesAfter([failed(40), passed(48)])).to.deep.equal(['failed', 'passed']);
    // 35 × 1.2 is exactly 42.
    expect(statesAfter([failed(35), passed(42)])).to.deep.equal(['failed', 'passed']);
  });

  it('changes from failed to passed in a full window if 20 % as many conversions have matured since', () => {
    expect(statesAfter([failed(40), [passed(40), full(7)]])).to.deep.equal(['failed', 'failed']);
    expect(statesAfter([failed(40), [passed(40), full(8)]])).to.deep.equal(['failed', 'passed']);
    expect(statesAfter([failed(40), [passed(36), full(8)]])).to.deep.equal(['failed', 'passed']);
    const raised = [failed(40), [failed(38), full(8)], [passed(38), full(8)]] as const;
    expect(statesAfter(raised)).to.deep.equal(['failed', 'failed', 'failed']);
  });

  it('names the required and the additional conversions in the summary of a failed model', () => {
    const held = (days: GradedDays, conversions: number) =>
      settledState(passed(conversions), settledState(failed(11_000), undefined, growing), days).summary;
    expect(held(growing, 12_100)).to.include(
      'only with 2,200 more conversions, 20 % of the 11,000 that failed it; 1,100 have come since.',
    );
    expect(held(full(1_200), 10_900)).to.include('; 1,200 have come since.');
    expect(held(growing, 10_900)).to.include('; 0 have come since.');
  });

  it('raises the barrier at a failing grade with 20 % additional conversions, but not with fewer', () => {
    expect(statesAfter([failed(40), failed(47), passed(48)]).at(-1)).to.equal('passed');
    expect(statesAfter([failed(40), failed(48), passed(57)]).at(-1)).to.equal('failed');
    expect(statesAfter([failed(40), failed(48), passed(58)]).at(-1)).to.equal('passed');
  });

  it('keeps the barrier through a grade that is too early', () => {
    expect(statesAfter([failed(40), tooEarly(0), passed(41)])).to.deep.equal([
      'failed',
      'too_early_to_grade',
      'failed',
    ]);
  });

  it('requires no additional conversions after a failure of cohort_reconciles', () => {
    expect(statesAfter([failed(40, 'cohort_reconciles'), passed(40)])).to.deep.equal(['failed', 'passed']);
    const both = [failed(40), failed(44, 'cohort_reconciles'), passed(45)];
    expect(statesAfter(both).at(-1)).to.equal('failed');
  });

  it('removes the barrier once the model has passed', () => {
    expect(statesAfter([failed(40), passed(60), failed(61), passed(61)])).to.deep.equal([
      'failed',
      'passed',
      'passed',
      'passed',
    ]);
  });
});
