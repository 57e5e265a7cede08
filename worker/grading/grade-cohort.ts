import { type BandRate, bandScores, type FailingGate, type GateResult } from '../../shared/verdict.js';
import type { CohortFigures } from './cohort-figures.js';
import {
  cohortReconciles,
  counted,
  type GateOutcome,
  maturedCohort,
  outcomesObserved,
  predictionsRecorded,
  rateRisesWithBand,
  timesText,
  topBandLiftGate,
} from './gates/gates.js';
import { mergeBands, sumOf } from './gates/merged-bands.js';
import { wilsonInterval } from './statistics/intervals.js';

/** What the figures of a cohort say by themselves, whatever was graded before. */
export interface Judgement {
  readonly state: 'passed' | 'failed' | 'too_early_to_grade';
  readonly failingGate: FailingGate | null;
  /** One sentence. */
  readonly summary: string;
  /** Conversions among matured records. */
  readonly conversions: number;
}

/** A judgement with all that it goes by, as it is stored and shown. */
export interface Grade extends Judgement {
  readonly gates: readonly GateResult[];
  readonly bands: readonly BandRate[];
}

interface TriedGate {
  readonly gate: FailingGate;
  readonly outcome: GateOutcome;
}

/**
 * Grades a cohort: the six gates in their order; the first that does not clear names the state.
 * @returns the grade with the figures of all gates, those behind it too
 */
export function gradeCohort(figures: CohortFigures): Grade {
  const tried = tryGates(figures);
  const first = tried.findIndex(({ outcome }) => outcome.state !== 'cleared');
  return {
    ...judgementOf(tried, figures),
    gates: tried.map((each, index) => gateResult(each, first !== -1 && index > first)),
    bands: figures.bands.map(bandRate),
  };
}

/** As `gradeCohort`, without what is only shown. */
export const judgeCohort = (figures: CohortFigures): Judgement => judgementOf(tryGates(figures), figures);

function tryGates(figures: CohortFigures): TriedGate[] {
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

function judgementOf(tried: readonly TriedGate[], figures: CohortFigures): Judgement {
  const conversions = sumOf(figures.bands, 'conversions');
  for (const { gate, outcome } of tried) {
    if (outcome.state === 'cleared') continue;
    const isFailed = outcome.state === 'failed';
    return {
      state: isFailed ? 'failed' : 'too_early_to_grade',
      failingGate: gate,
      summary: `${isFailed ? 'Failed' : 'Too early to grade'} at ${gate}: ${outcome.clause}.`,
      conversions,
    };
  }
  const lift = tried.at(-1)?.outcome.figures.lift ?? 0;
  return { state: 'passed', failingGate: null, summary: passedSummary(figures, lift), conversions };
}

function passedSummary(figures: CohortFigures, lift: number): string {
  const matured = counted(sumOf(figures.bands, 'records'));
  return `Passed: all six validation gates cleared on ${matured} matured predictions, with top-band lift ${timesText(lift)}.`;
}

function gateResult({ gate, outcome }: TriedGate, isBehind: boolean): GateResult {
  const figures = Object.fromEntries(
    Object.entries(outcome.figures).map(([name, value]) => [name, sixDigits(value)]),
  );
  if (isBehind) return { gate, state: 'not_reached', figures };
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

const sixDigits = (value: number): number => (Number.isInteger(value) ? value : Number(value.toPrecision(6)));
