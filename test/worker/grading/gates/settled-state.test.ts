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

const hourMs = 60 * 60 * 1000;
const startMs = Date.UTC(2026, 4, 10, 2);

/** The states after each grade of a sequence, a day apart. */
const statesAfter = (grades: readonly (Grade | readonly [Grade, GradedDays])[]): string[] => statesAt(24, grades);

/** The states after each grade of a sequence, some hours apart. */
function statesAt(hours: number, grades: readonly (Grade | readonly [Grade, GradedDays])[]): string[] {
  let standing: Standing | undefined;
  return grades.map((each, index) => {
    const [grade, days] = 'state' in each ? [each, growing] : each;
    standing = settledState(grade, standing, { ...days, atMs: startMs + index * hours * hourMs });
    return standing.state;
  });
}

describe('settledState', () => {
  it('returns the state of the first grade', () => {
    expect(statesAfter([passed(40)])).to.deep.equal(['passed']);
    expect(statesAfter([failed(40)])).to.deep.equal(['failed']);
    expect(statesAfter([tooEarly(0)])).to.deep.equal(['too_early_to_grade']);
  });

  it('changes from passed at the second grade in a row that does not clear a gate, a day later', () => {
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

  it('keeps a pass through grades that do not clear until 20 hours after the first of them', () => {
    const fourth = [passed(40), failed(41), failed(42), failed(43)];
    expect(statesAt(9.9, fourth)).to.deep.equal(['passed', 'passed', 'passed', 'passed']);
    expect(statesAt(10, fourth)).to.deep.equal(['passed', 'passed', 'passed', 'failed']);
    const quarters = [passed(40), ...Array.from({ length: 80 }, () => failed(41))];
    expect(statesAt(0.25, quarters)).to.not.include('failed');
    expect(statesAt(0.25, [...quarters, failed(41)]).at(-1)).to.equal('failed');
    expect(statesAt(10, [passed(40), failed(41), tooEarly(0), tooEarly(0)])).to.deep.equal([
      'passed',
      'passed',
      'passed',
      'too_early_to_grade',
    ]);
  });

  it('keeps a pass for 20 hours more after a grade that clears', () => {
    const cleared = [passed(40), failed(41), failed(42), passed(43), failed(44), failed(45)];
    expect(statesAt(10, cleared)).to.not.include('failed');
    expect(statesAt(10, [...cleared, failed(46)]).at(-1)).to.equal('failed');
  });

  it('names the failing gate once in the summary of a pass that is held', () => {
    const at = (hours: number) => ({ ...growing, atMs: startMs + hours * hourMs });
    const held = settledState(failed(41), settledState(passed(40), undefined, at(0)), at(1));
    expect(held.summary).to.equal(
      'passed with 40; the latest grade did not clear top_band_lift, ' +
        'and one like it after 2026-05-10 23:00 UTC would end the pass.',
    );
    const again = settledState(failed(41, 'cohort_reconciles'), held, at(2));
    expect(again.summary).to.equal(held.summary.replace('top_band_lift', 'cohort_reconciles'));
    expect(settledState(passed(44), again, at(3)).summary).to.equal('passed with 44.');
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
      settledState(passed(conversions), settledState(failed(11_000), undefined, { ...growing, atMs: startMs }), {
        ...days,
        atMs: startMs + 24 * hourMs,
      }).summary;
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
