import { dayText } from '../../../shared/contract/dates.js';
import { countText, liftText, sixDigits } from '../../../shared/contract/figures.js';
import {
  type BandRate,
  bandScores,
  type FailingGate,
  type GateResult,
  requiredPredictions,
  waitsFor,
} from '../../../shared/contract/verdict.js';
import { wilsonInterval } from '../statistics/intervals.js';
import type { CohortFigures } from './cohort-figures.js';
import {
  cohortReconciles,
  type GateOutcome,
  isMostlyUnscored,
  maturedCohort,
  outcomesObserved,
  predictionsRecorded,
  rateRisesWithBand,
  tooFewScores,
  topBandLiftGate,
} from './gates.js';
import { mergeBands, sumOf } from './merged-bands.js';

/** The result of a cohort's figures alone, regardless of earlier grades. */
export interface Judgement {
  readonly state: 'passed' | 'failed' | 'too_early_to_grade';
  readonly failingGate: FailingGate | null;
  /** One sentence. */
  readonly summary: string;
  /** Conversions among matured records. */
  readonly conversions: number;
}

/** A judgement with its gates and bands, as stored and shown. */
export interface Grade extends Judgement {
  readonly gates: readonly GateResult[];
  readonly bands: readonly BandRate[];
}

interface TestedGate {
  readonly gate: FailingGate;
  readonly outcome: GateOutcome;
}

/**
 * Tests the six gates of a cohort in order. The first gate that does not clear determines the state.
 * @returns the grade with the figures of all gates, including those after the failing one
 */
export function gradeCohort(figures: CohortFigures): Grade {
  const tested = testGates(figures);
  const first = tested.findIndex(({ outcome }) => outcome.state !== 'cleared');
  const stopped = tested[first]?.gate;
  return {
    ...judgementOf(tested, figures),
    gates: tested.map((each, index) => gateResult(each, index > first ? stopped : undefined)),
    bands: figures.bands.map(bandRate),
  };
}

/** Like `gradeCohort`, without gates and bands. */
export const judgeCohort = (figures: CohortFigures): Judgement => judgementOf(testGates(figures), figures);

function testGates(figures: CohortFigures): TestedGate[] {
  const merged = mergeBands(figures.bands);
  return [
    { gate: 'predictions_recorded', outcome: predictionsRecorded(figures) },
    { gate: 'cohort_reconciles', outcome: cohortReconciles(figures) },
    { gate: 'matured_cohort', outcome: maturedCohort(figures) },
    { gate: 'outcomes_observed', outcome: outcomesObserved(figures, merged) },
    { gate: 'rate_rises_with_band', outcome: rateRisesWithBand(figures, merged) },
    { gate: 'top_band_lift', outcome: topBandLiftGate(figures, merged) },
  ];
}

function judgementOf(tested: readonly TestedGate[], figures: CohortFigures): Judgement {
  const conversions = sumOf(figures.bands, 'conversions');
  for (const { gate, outcome } of tested) {
    if (outcome.state === 'cleared') continue;
    const isFailed = outcome.state === 'failed';
    return {
      state: isFailed ? 'failed' : 'too_early_to_grade',
      failingGate: gate,
      summary: isFailed
        ? `Failed at ${gate}: ${outcome.clause}.`
        : `Too early to grade at ${gate}: ${outcome.clause}${prospectClause(gate, figures)}.`,
      conversions,
    };
  }
  const lift = tested.at(-1)?.outcome.figures.lift ?? 0;
  return { state: 'passed', failingGate: null, summary: passedSummary(figures, lift), conversions };
}

/**
 * Says when a verdict becomes possible, if enough predictions are recorded and too few of them have matured. Says so if
 * none does.
 */
function prospectClause(gate: FailingGate, { cohort, scoredBands, verdictDay, latestOutcomes }: CohortFigures): string {
  const isTold = gate === 'outcomes_observed' || cohort < requiredPredictions;
  const unreachable = isTold ? undefined : tooFewScores(cohort, scoredBands);
  if (unreachable !== undefined) return `; ${unreachable}`;
  const isAstray = gate === 'cohort_reconciles' && isMostlyUnscored(latestOutcomes);
  return verdictDay === undefined || isAstray ? '' : `; a verdict is possible from ${dayText(verdictDay)}`;
}

function passedSummary(figures: CohortFigures, lift: number): string {
  const matured = countText(sumOf(figures.bands, 'records'));
  return (
    `Passed: all six validation gates cleared on ${matured} matured predictions, ` +
    `with top-band lift ${liftText(lift)}.`
  );
}

/** @param stopped the gate before this one that did not clear, if any */
function gateResult({ gate, outcome }: TestedGate, stopped: FailingGate | undefined): GateResult {
  const figures = Object.fromEntries(Object.entries(outcome.figures).map(([name, value]) => [name, sixDigits(value)]));
  if (stopped !== undefined) return { gate, state: 'not_reached', figures, needs: waitsFor(stopped) };
  const { state } = outcome;
  return state === 'cleared' ? { gate, state, figures } : { gate, state, figures, needs: outcome.clause };
}

function bandRate({ records, conversions }: CohortFigures['bands'][number], band: number): BandRate {
  const { low, high } = wilsonInterval(conversions, records);
  const rate = records === 0 ? 0 : conversions / records;
  return {
    scores: bandScores[band] ?? '',
    records,
    conversions,
    rate: sixDigits(rate),
    low: sixDigits(low),
    high: sixDigits(high),
  };
}
