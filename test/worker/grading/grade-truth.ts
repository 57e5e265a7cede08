import { expect } from 'chai';
import type { FailingGate } from '../../../shared/contract/verdict.js';
import type { Graded } from '../../../worker/grading/job/grade-version.js';
import type { RecordedWorld } from './recorded-world.js';

/** The figures of one gate of a grade. */
export function figures({ verdict }: Graded, gate: FailingGate): Readonly<Record<string, number>> {
  const found = verdict.grade?.gates.find((each) => each.gate === gate);
  if (found === undefined) throw new Error(`no gate ${gate}`);
  return found.figures;
}

/** Expects the figures of a grade to equal the recorded world's, counted by definition. */
export function expectTruth(
  graded: Graded,
  world: RecordedWorld,
  { asOfMs, horizonDays }: { readonly asOfMs: number; readonly horizonDays: number },
): void {
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
