import { type BandRate, bandScores, type FailingGate, type GateResult } from '../../shared/verdict.js';
import type { CohortFigures } from './cohort-figures.js';
import { cohortReconciles, maturedCohort, predictionsRecorded } from './data-gates.js';
import { counted, type GateOutcome, timesText } from './gate-outcome.js';
import { sumOf } from './merged-bands.js';
import { outcomesObserved, rateRisesWithBand, topBandLiftGate } from './outcome-gates.js';
import { wilsonInterval } from './wilson-interval.js';

/** What the figures of a cohort say by themselves, whatever was graded before. */
export interface Grade {
  readonly state: 'passed' | 'failed' | 'too_early_to_grade';
  readonly failingGate: FailingGate | null;
  /** One sentence. */
  readonly summary: string;
  readonly gates: readonly GateResult[];
  readonly bands: readonly BandRate[];
  /** Conversions among matured records. */
  readonly conversions: number;
}

const tries: readonly {
  readonly gate: FailingGate;
  readonly try: (figures: CohortFigures) => GateOutcome;
}[] = [
  { gate: 'predictions_recorded', try: predictionsRecorded },
  { gate: 'cohort_reconciles', try: cohortReconciles },
  { gate: 'matured_cohort', try: maturedCohort },
  { gate: 'outcomes_observed', try: outcomesObserved },
  { gate: 'rate_rises_with_band', try: rateRisesWithBand },
  { gate: 'top_band_lift', try: topBandLiftGate },
];

/**
 * Grades a cohort: the six gates in their order; the first that does not clear names the state.
 * @returns the grade with the figures of all gates, those behind it too
 */
export function gradeCohort(figures: CohortFigures): Grade {
  const outcomes = tries.map(({ gate, try: tryGate }) => ({ gate, outcome: tryGate(figures) }));
  const first = outcomes.findIndex(({ outcome }) => outcome.state !== 'cleared');
  const gates = outcomes.map(({ gate, outcome }, index) =>
    gateResult(gate, outcome, first !== -1 && index > first),
  );
  const common = {
    gates,
    bands: figures.bands.map(bandRate),
    conversions: sumOf(figures.bands, 'conversions'),
  };
  const stopped = outcomes[first];
  if (stopped === undefined || stopped.outcome.state === 'cleared')
    return { state: 'passed', failingGate: null, summary: passedSummary(figures, gates), ...common };
  const { gate, outcome } = stopped;
  const isFailed = outcome.state === 'failed';
  return {
    state: isFailed ? 'failed' : 'too_early_to_grade',
    failingGate: gate,
    summary: `${isFailed ? 'Failed' : 'Too early to grade'} at ${gate}: ${outcome.clause}.`,
    ...common,
  };
}

function passedSummary(figures: CohortFigures, gates: readonly GateResult[]): string {
  const lift = gates.find(({ gate }) => gate === 'top_band_lift')?.figures.lift ?? 0;
  const matured = counted(sumOf(figures.bands, 'records'));
  return `Passed: all six validation gates cleared on ${matured} matured predictions, with top-band lift ${timesText(lift)}.`;
}

function gateResult(gate: FailingGate, outcome: GateOutcome, isBehind: boolean): GateResult {
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
