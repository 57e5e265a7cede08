import { expect } from 'chai';
import fc from 'fast-check';
import type { CohortFigures } from '../../../../worker/grading/gates/cohort-figures.js';
import { gradeCohort } from '../../../../worker/grading/gates/grade-cohort.js';

/** A consistent cohort with the given records and conversions per band. */
function cohortOf(
  records: readonly number[],
  conversions: readonly number[],
  changes: Partial<CohortFigures> = {},
): CohortFigures {
  const total = records.reduce((sum, each) => sum + each, 0);
  const bands = records.map((each, band) => ({
    records: each,
    conversions: conversions[band] ?? 0,
    expected: conversions[band] ?? 0,
  }));
  return {
    requests: { ledgerRecords: total, storedRows: total, mismatchedRequests: 0, countedForADay: true },
    leftOut: { repeats: 0, withoutCrmId: 0, excluded: 0, erased: 0 },
    cohort: total,
    joined: total,
    joinable: total,
    matured: total,
    scoredBands: 5,
    bands,
    horizonDays: 90,
    expectedLift: 2,
    ...changes,
  };
}

const even = [100, 100, 100, 100, 100];
const rising = [2, 4, 6, 8, 15];
const verdict = (figures: CohortFigures): string => {
  const { state, failingGate } = gradeCohort(figures);
  return failingGate === null ? state : `${state} ${failingGate}`;
};

describe('gradeCohort', () => {
  it('passes a cohort with 35 conversions whose rate rises with the band', () => {
    expect(gradeCohort(cohortOf(even, rising)).summary).to.equal(
      'Passed: all six validation gates cleared on 500 matured predictions, with top-band lift 2.1x.',
    );
  });

  it('clears the gates at exactly 200 records, 95 % with outcomes and the required conversions', () => {
    expect(verdict(cohortOf([40, 40, 40, 40, 40], rising))).to.equal('passed');
    expect(verdict(cohortOf([40, 40, 40, 40, 39], rising))).to.match(/predictions_recorded$/);
    expect(verdict(cohortOf(even, rising, { joined: 475 }))).to.equal('passed');
    expect(verdict(cohortOf(even, rising, { joined: 474 }))).to.equal('failed cohort_reconciles');
    expect(verdict(cohortOf(even, [2, 3, 4, 6, 15]))).to.equal('passed');
    expect(verdict(cohortOf(even, [2, 3, 4, 6, 14]))).to.equal('too_early_to_grade outcomes_observed');
  });

  it('gives each gate after the first that did not clear its reason', () => {
    const { gates } = gradeCohort(cohortOf(even, rising, { matured: 0, bands: [] }));
    expect(gates.map(({ state, needs }) => [state, needs])).to.deep.equal([
      ['cleared', undefined],
      ['cleared', undefined],
      ['too_early', '0 of 200 required predictions have completed the 90-day window'],
      ['not_reached', 'matured_cohort must clear first'],
      ['not_reached', 'matured_cohort must clear first'],
      ['not_reached', 'matured_cohort must clear first'],
    ]);
  });

  it('says in the summary when a verdict becomes possible, if the day is known', () => {
    const start =
      'Too early to grade at matured_cohort: 0 of 200 required predictions have completed the 90-day window';
    const early = { matured: 0, bands: [] };
    expect(gradeCohort(cohortOf(even, rising, early)).summary).to.equal(`${start}.`);
    expect(gradeCohort(cohortOf(even, rising, { ...early, verdictDay: 20_000 })).summary).to.equal(
      `${start}; a verdict is possible from 2024-10-04.`,
    );
    expect(gradeCohort(cohortOf(even, rising, { ...early, joined: 0, verdictDay: 20_000 })).summary).to.equal(
      'Too early to grade at cohort_reconciles: no outcome data covers the cohort of 500 predictions yet; ' +
        'a verdict is possible from 2024-10-04.',
    );
  });

  it('says that no verdict is possible while the scores fall into fewer than three bands', () => {
    const records = [300, 0, 0, 0, 200];
    const unreachable =
      'the 500 scores fall into 2 of the 5 score bands, and a verdict needs 3, so the model must give more different scores';
    for (const conversions of [[0], [10, 0, 0, 0, 90]]) {
      const { summary, gates } = gradeCohort(cohortOf(records, conversions, { scoredBands: 2 }));
      expect(summary).to.equal(`Too early to grade at outcomes_observed: ${unreachable}.`);
      expect(gates[3]).to.deep.include({ state: 'too_early', needs: unreachable });
    }
    const young = gradeCohort(cohortOf(records, [0], { scoredBands: 5 }));
    expect(young.summary, 'later scores fall into other bands').to.match(/: 0 of \d+ required conversions/);
    const early = { matured: 0, bands: [], scoredBands: 2, verdictDay: 20_000 };
    expect(gradeCohort(cohortOf(records, [], early)).summary).to.equal(
      'Too early to grade at matured_cohort: 0 of 200 required predictions have completed the 90-day window; ' +
        `${unreachable}.`,
    );
    expect(gradeCohort(cohortOf([150, 0, 0, 0, 0], [], { ...early, verdictDay: undefined })).summary).to.equal(
      'Too early to grade at predictions_recorded: 150 of 200 required predictions have been recorded.',
    );
    const three = gradeCohort(cohortOf([200, 0, 100, 0, 200], [0, 0, 1], { scoredBands: 3 }));
    expect(three.summary).to.match(/at outcomes_observed: 1 of \d+ required conversions have been observed\.$/);
  });

  it('names outcomes of leads that were never scored when they are most of the latest', () => {
    const forms = { ofOutcome: 'AAA-999', ofScore: 'aaa_999' };
    const summaryOf = (unscored: number, changes: Partial<CohortFigures>) =>
      gradeCohort(cohortOf(even, rising, { ...changes, latestOutcomes: { outcomes: 200, unscored, forms } })).summary;
    const clause =
      '101 of the latest 200 outcomes name no scored lead: a crm_id of theirs has the form "AAA-999", ' +
      'one of a scored lead "aaa_999"';
    const none = 'Too early to grade at cohort_reconciles: no outcome data covers the cohort of 500 predictions';
    expect(summaryOf(101, { joined: 0, verdictDay: 20_000 })).to.equal(`${none}; ${clause}.`);
    expect(summaryOf(100, { joined: 0 })).to.equal(`${none} yet.`);
    expect(summaryOf(101, { joined: 400 })).to.equal(
      `Failed at cohort_reconciles: outcome data names 400 of 500 cohort records, and 95 % of them are required; ${clause}.`,
    );
    expect(summaryOf(100, { joined: 400 })).to.match(/are required\.$/);
  });

  it('writes expected conversions in the summary as the CLI and the console do', () => {
    const bands = even.map((records) => ({ records, conversions: 2, expected: 31.27 / 5 }));
    expect(gradeCohort(cohortOf(even, [], { bands })).summary).to.match(/likelihoods add up to 31\.3\.$/);
  });

  it('names the predictions without a crm_id or of converted leads in the summary', () => {
    const leftOut = { repeats: 7, withoutCrmId: 1200, excluded: 0, erased: 3 };
    const requests = { ledgerRecords: 9, storedRows: 9, mismatchedRequests: 0, countedForADay: false };
    const summaryOf = (changes: Partial<typeof leftOut>): string =>
      gradeCohort(cohortOf([], [], { requests, leftOut: { ...leftOut, ...changes } })).summary;
    const start = 'Too early to grade at predictions_recorded: 0 of 200 required predictions have been recorded';
    expect(summaryOf({})).to.equal(`${start}, not counting 1,200 without a crm_id.`);
    expect(summaryOf({ excluded: 4 })).to.equal(
      `${start}, not counting 1,200 without a crm_id and 4 of leads that had converted before.`,
    );
    expect(summaryOf({ withoutCrmId: 0 })).to.equal(`${start}.`);
  });

  it('requires more conversions if the expected lift is lower', () => {
    const { gates } = gradeCohort(cohortOf(even, rising, { expectedLift: 1.5 }));
    expect(gates[3]).to.deep.include({ gate: 'outcomes_observed', state: 'too_early' });
    expect(gates[3]?.figures.required_conversions).to.equal(100);
  });

  it('requires 30 non-conversions', () => {
    expect(verdict(cohortOf(even, [94, 94, 94, 94, 95]))).to.equal('too_early_to_grade outcomes_observed');
  });

  it('returns too_early_to_grade while fewer than three bands are comparable', () => {
    const lopsided = cohortOf([960, 10, 10, 10, 10], [110, 1, 1, 1, 1]);
    expect(gradeCohort(lopsided).summary).to.match(/at outcomes_observed: .+ score bands/);
  });

  it('fails a cohort with far fewer conversions than expected, from 30 expected conversions on', () => {
    const promising = (expected: number) => ({
      bands: even.map((records) => ({ records, conversions: 2, expected: expected / 5 })),
    });
    expect(verdict(cohortOf(even, [], promising(30)))).to.equal('failed outcomes_observed');
    expect(verdict(cohortOf(even, [], promising(29.9)))).to.equal('too_early_to_grade outcomes_observed');
    const enough = {
      bands: even.map((records, band) => ({ records, conversions: rising[band] ?? 0, expected: 90 })),
    };
    expect(verdict(cohortOf(even, [], enough))).to.equal('passed'); // enough conversions were observed
  });

  it('fails cohort_reconciles if stored rows and ledger differ in total or for single calls', () => {
    const requests = { ledgerRecords: 500, storedRows: 500, mismatchedRequests: 0, countedForADay: true };
    for (const wrong of [{ ledgerRecords: 501 }, { storedRows: 499 }, { mismatchedRequests: 2 }])
      expect(verdict(cohortOf(even, rising, { requests: { ...requests, ...wrong } }))).to.equal(
        'failed cohort_reconciles',
      );
  });

  it('fails top_band_lift if chance could explain the lift', () => {
    const { failingGate, summary } = gradeCohort(cohortOf([400, 400, 400, 400, 70], [20, 28, 36, 46, 9]));
    expect(failingGate).to.equal('top_band_lift');
    expect(summary).to.include('is not certain');
  });

  it('returns the first gate that does not clear and a one-sentence summary for any cohort', () => {
    const count = fc.oneof(fc.nat(400), fc.constant(0));
    const cohort = fc
      .record({
        records: fc.oneof(fc.array(count, { minLength: 5, maxLength: 5 }), fc.constant(Array<number>(5).fill(0))),
        shares: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 5, maxLength: 5 }),
        joined: fc.double({ min: 0.9, max: 1, noNaN: true }),
        expectedLift: fc.double({ min: 0.5, max: 6, noNaN: true }),
      })
      .map(({ records, shares, joined, expectedLift }) => {
        const conversions = records.map((each, band) => Math.floor(each * (shares[band] ?? 0)));
        const base = cohortOf(records, conversions, { expectedLift });
        return { ...base, joined: Math.floor(base.cohort * joined) };
      });
    fc.assert(
      fc.property(cohort, (figures) => {
        const { state, failingGate, summary, gates } = gradeCohort(figures);
        const stopped = gates.find((gate) => gate.state !== 'cleared');
        expect(failingGate).to.equal(stopped?.gate ?? null);
        expect(state === 'passed').to.equal(stopped === undefined);
        expect(summary)
          .to.match(/^[^.]+(\.\d[^.]*)*\.$/)
          .and.not.include('NaN');
        for (const { figures: numbers } of gates)
          for (const [name, value] of Object.entries(numbers)) expect(value, name).to.satisfy(Number.isFinite);
      }),
    );
  });
});
