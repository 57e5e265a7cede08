import { expect } from 'chai';
import { type SeededRandom, seededRandom } from '../../../../scripts/leads/seeded-random.js';
import { stabilityByChance, stabilityIndex } from '../../../../shared/contract/comparison/stability-index.js';
import { areaUnderCurve } from '../../../../worker/grading/compare/area-under-curve.js';
import {
  type PairedEstimates,
  pairedEstimates,
  type Statistic,
} from '../../../../worker/grading/compare/paired-estimates.js';
import {
  countByLikelihood,
  type LikelihoodCounts,
  type PairedColumns,
  PairedLeads,
} from '../../../../worker/grading/compare/paired-leads.js';
import { topFifthLift } from '../../../../worker/grading/compare/top-fifth-lift.js';
import { drawLeads } from './simulated-candidates.js';

type Lead = readonly [base: number, candidate: number, converted: boolean];

const columnsOf = (leads: readonly Lead[]): PairedColumns => {
  const paired = new PairedLeads();
  for (const lead of leads) paired.add(...lead);
  return paired.columns();
};
const estimatesOf = (leads: PairedColumns, statistic: (counts: LikelihoodCounts) => Statistic): PairedEstimates => {
  const of = (version: 'base' | 'candidate') => statistic(countByLikelihood(leads[version], leads.converted));
  return pairedEstimates(of('base'), of('candidate'), leads);
};
/** Likelihoods in steps, so that many leads share one. */
const coarse = ({ base, candidate, converted }: PairedColumns, step: number): Lead[] =>
  Array.from(converted, (each, lead) => [
    Math.floor((base[lead] ?? 0) / step) * step,
    Math.floor((candidate[lead] ?? 0) / step) * step,
    each === 1,
  ]);

/** The lift by sorting: the leads of a tie share the places left equally. */
function sortedLift(leads: readonly Lead[], version: 0 | 1): number {
  const sorted = leads.map((lead) => ({ likelihood: lead[version], converted: Number(lead[2]) }));
  sorted.sort((one, other) => other.likelihood - one.likelihood);
  let left = leads.length / 5;
  let inTop = 0;
  for (let begin = 0; begin < sorted.length && left > 0; ) {
    let end = begin;
    while (sorted[end]?.likelihood === sorted[begin]?.likelihood) end += 1;
    const tie = sorted.slice(begin, end);
    const taken = Math.min(left, tie.length);
    inTop += (taken / tie.length) * tie.reduce((sum, { converted }) => sum + converted, 0);
    left -= taken;
    begin = end;
  }
  const conversions = sorted.reduce((sum, { converted }) => sum + converted, 0);
  return inTop / (leads.length / 5) / (conversions / leads.length);
}

/** The covariance matrix of two areas by DeLong's formulas, as direct double sums over all pairs. */
function deLong(leads: readonly Lead[]) {
  const conversions = leads.filter(([, , converted]) => converted);
  const others = leads.filter(([, , converted]) => !converted);
  const wins = (one = 0, other = 0): number => (one > other ? 1 : one === other ? 0.5 : 0);
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const ofConversions = ([0, 1] as const).map((version) =>
    conversions.map((one) => mean(others.map((other) => wins(one[version], other[version])))),
  );
  const ofOthers = ([0, 1] as const).map((version) =>
    others.map((other) => mean(conversions.map((one) => wins(one[version], other[version])))),
  );
  const covariance = (one: readonly number[], other: readonly number[]): number =>
    one.reduce((sum, value, index) => sum + (value - mean(one)) * ((other[index] ?? 0) - mean(other)), 0) /
    (one.length - 1);
  const of = (row: number, column: number): number =>
    covariance(ofConversions[row] ?? [], ofConversions[column] ?? []) / conversions.length +
    covariance(ofOthers[row] ?? [], ofOthers[column] ?? []) / others.length;
  return {
    areas: ofConversions.map(mean),
    errors: [Math.sqrt(of(0, 0)), Math.sqrt(of(1, 1))],
    differenceError: Math.sqrt(of(0, 0) + of(1, 1) - 2 * of(0, 1)),
  };
}

const resampled = (leads: readonly Lead[], random: SeededRandom): Lead[] => leads.map(() => random.pick(leads));

function deviation(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
}

describe('the statistics of a comparison', () => {
  const skill = { rate: 0.15, baseNoise: 1, candidateNoise: 0.6 };

  it('give ties at the end of the top fifth equal shares of the places left', () => {
    // Two places: one for 0.9, the other for three leads at 0.8, of which two converted.
    const leads = [9_000, 8_000, 8_000, 8_000, 5_000, 4_000, 3_000, 2_000, 1_000, 0].map(
      (likelihood, lead): Lead => [likelihood, 10_000 - likelihood, [0, 1, 2, 8].includes(lead)],
    );
    const { base, candidate } = estimatesOf(columnsOf(leads), topFifthLift);
    expect(base.value).to.be.closeTo((1 + 2 / 3) / (0.2 * 4), 1e-12);
    expect(candidate.value, 'the last two leads, of which one converted').to.be.closeTo(1 / (0.2 * 4), 1e-12);
  });

  it('give the lift that sorting gives, with and without ties', () => {
    const drawn = drawLeads(seededRandom(1), 1_013, skill).columns();
    for (const step of [1, 250, 2_000]) {
      const leads = coarse(drawn, step);
      const { base, candidate, difference } = estimatesOf(columnsOf(leads), topFifthLift);
      expect(base.value, `step ${step}`).to.be.closeTo(sortedLift(leads, 0), 1e-9);
      expect(candidate.value, `step ${step}`).to.be.closeTo(sortedLift(leads, 1), 1e-9);
      expect(difference.value).to.equal(candidate.value - base.value);
    }
  });

  it('give standard errors of the lift like those of a bootstrap', function () {
    this.timeout(60_000);
    const random = seededRandom(2);
    const drawn = drawLeads(random, 2_000, skill).columns();
    for (const step of [1, 1_000]) {
      const leads = coarse(drawn, step);
      const estimates = estimatesOf(columnsOf(leads), topFifthLift);
      const samples = Array.from({ length: 300 }, () => {
        const sample = resampled(leads, random);
        return [sortedLift(sample, 0), sortedLift(sample, 1)] as const;
      });
      const bootstrap = {
        base: deviation(samples.map(([base]) => base)),
        candidate: deviation(samples.map(([, candidate]) => candidate)),
        difference: deviation(samples.map(([base, candidate]) => candidate - base)),
      };
      // A deviation of 300 samples is within 12 % of the true one in 99 of 100 cases.
      for (const name of ['base', 'candidate', 'difference'] as const)
        expect(estimates[name].error / bootstrap[name], `${name}, step ${step}`).to.be.within(0.85, 1.18);
      const unpaired = Math.hypot(estimates.base.error, estimates.candidate.error);
      expect(estimates.difference.error, 'pairs').to.be.below(0.95 * unpaired);
    }
  });

  it("give DeLong's areas and errors of all pairs, with and without ties", () => {
    const drawn = drawLeads(seededRandom(3), 400, skill).columns();
    for (const step of [1, 500, 3_000]) {
      const leads = coarse(drawn, step);
      const direct = deLong(leads);
      const { base, candidate, difference } = estimatesOf(columnsOf(leads), areaUnderCurve);
      expect(base.value).to.be.closeTo(direct.areas[0] ?? 0, 1e-12);
      expect(candidate.value).to.be.closeTo(direct.areas[1] ?? 0, 1e-12);
      expect(base.error).to.be.closeTo(direct.errors[0] ?? 0, 1e-12);
      expect(candidate.error).to.be.closeTo(direct.errors[1] ?? 0, 1e-12);
      expect(difference.error, `step ${step}`).to.be.closeTo(direct.differenceError, 1e-12);
    }
  });

  it('give a difference of exactly 0 for one version twice', () => {
    const { base, converted } = drawLeads(seededRandom(4), 500, skill).columns();
    for (const statistic of [topFifthLift, areaUnderCurve])
      expect(estimatesOf({ base, candidate: base, converted }, statistic).difference).to.deep.equal({
        value: 0,
        error: 0,
      });
  });

  it('give the stability index of scores, which chance exceeds in 1 % of cases', () => {
    expect(stabilityIndex([5, 6, 7, 8, 9], [5, 6, 7, 8, 9])).to.equal(0);
    // (0.3 − 0.1)·ln 3 + (0.1 − 0.3)·ln(1/3) of shares that the halves keep.
    expect(stabilityIndex([29.5, 9.5, 19.5, 19.5, 19.5], [9.5, 29.5, 19.5, 19.5, 19.5])).to.be.closeTo(
      0.4 * Math.log(3),
      1e-12,
    );
    const random = seededRandom(5);
    const limit = stabilityByChance(1_000, 3_000);
    expect(limit).to.be.closeTo(13.2767 * (1 / 1_000 + 1 / 3_000), 1e-6);
    const counted = (scores: number): number[] => {
      const bands = [0, 0, 0, 0, 0];
      for (let score = 0; score < scores; score += 1) {
        const band = random.integer(0, 4);
        bands[band] = (bands[band] ?? 0) + 1;
      }
      return bands;
    };
    const above = Array.from({ length: 1_000 }, () => stabilityIndex(counted(1_000), counted(3_000)) > limit);
    expect(above.filter(Boolean).length).to.be.within(2, 25);
  });
});
