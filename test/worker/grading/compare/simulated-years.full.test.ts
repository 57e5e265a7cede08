import { expect } from 'chai';
import { type SeededRandom, seededRandom } from '../../../../scripts/leads/seeded-random.js';
import { nextJudgedConversions } from '../../../../shared/contract/comparison/comparison-verdict.js';
import { type Judged, judgedAfter } from '../../../../worker/grading/compare/judge.js';
import { pairedFigures } from '../../../../worker/grading/compare/paired-figures.js';
import { type PairedColumns, PairedLeads } from '../../../../worker/grading/compare/paired-leads.js';
import { drawLead, drawLeads, type SimulatedSkill } from './simulated-candidates.js';

const nights = 365;
const leadsANight = 27;

/** The verdicts of one candidate in a year. */
class Judge {
  readonly verdicts = new Set<string>();
  judgements = 0;
  private judged: Judged | undefined;

  /** A night. A look that cannot change the verdict is left out, because it costs time only. */
  look(leads: PairedColumns, conversions: number): void {
    const last = this.judged?.conversions ?? null;
    if (last !== null && conversions < nextJudgedConversions(last)) return;
    this.judged = judgedAfter({ ...pairedFigures(leads), missingFields: [] }, this.judged);
    if (this.judged.conversions === null) return;
    this.judgements += 1;
    this.verdicts.add(this.judged.verdict);
  }
}

/** A year in which the leads of a day mature each night, and each night looks at all of them. Both roles are judged. */
function simulatedYear(random: SeededRandom, skill: SimulatedSkill) {
  const leads = new PairedLeads();
  const [candidate, swapped] = [new Judge(), new Judge()];
  let conversions = 0;
  for (let night = 0; night < nights; night += 1) {
    for (let lead = 0; lead < leadsANight; lead += 1) {
      const drawn = drawLead(random, skill);
      leads.add(...drawn);
      conversions += Number(drawn[2]);
    }
    const columns = leads.columns();
    candidate.look(columns, conversions);
    swapped.look({ ...columns, base: columns.candidate, candidate: columns.base }, conversions);
  }
  return { candidate, swapped, conversions };
}

/** The lift of each version over very many leads. */
function trueLifts(skill: SimulatedSkill): { readonly base: number; readonly candidate: number } {
  const { figures } = pairedFigures(drawLeads(seededRandom(99), 400_000, skill).columns());
  return { base: figures?.lift.base.value ?? 0, candidate: figures?.lift.candidate.value ?? 0 };
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const shareWith = (judges: readonly Judge[], verdict: string): number =>
  judges.filter(({ verdicts }) => verdicts.has(verdict)).length / judges.length;

describe('comparisons that are repeated every night of a year', () => {
  it('call a candidate that is as good as the current version better in at most 5 % of years', function () {
    this.timeout(1_200_000);
    const random = seededRandom(11);
    const skill = { rate: 0.0405, baseNoise: 1, candidateNoise: 1 };
    const years = Array.from({ length: 1_000 }, () => simulatedYear(random, skill));
    // Equally good versions may change roles, so each year is two.
    const judges = years.flatMap(({ candidate, swapped }) => [candidate, swapped]);
    expect(shareWith(judges, 'better')).to.be.within(0.01, 0.05);
    expect(mean(judges.map(({ judgements }) => judgements))).to.be.within(12, 18);
  });

  it('call a candidate with half a lift more better in at least 75 % of years with 500 conversions', function () {
    this.timeout(600_000);
    const skill = { rate: 0.0405, baseNoise: 1, candidateNoise: 0.55 };
    const { base, candidate } = trueLifts(skill);
    expect(candidate - base).to.be.within(0.45, 0.54);
    const random = seededRandom(12);
    const years = Array.from({ length: 200 }, () => simulatedYear(random, skill));
    expect(mean(years.map(({ conversions }) => conversions))).to.be.within(450, 550);
    expect(
      shareWith(
        years.map((year) => year.candidate),
        'better',
      ),
    ).to.be.at.least(0.75);
    expect(
      shareWith(
        years.map((year) => year.swapped),
        'better',
      ),
    ).to.be.at.most(0.01);
  });
});
