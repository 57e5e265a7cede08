/** The validation verdict: whether a model has earned its use (docs/validation.md). */

export const validationStates = [
  'passed',
  'failed',
  'too_early_to_grade',
  'unresolved',
  'not_applicable',
] as const;
export type ValidationState = (typeof validationStates)[number];

/** The gates, in the order in which they are tried. */
export const validationGates = [
  'predictions_recorded',
  'cohort_reconciles',
  'matured_cohort',
  'outcomes_observed',
  'rate_rises_with_band',
  'top_band_lift',
] as const;
export type FailingGate = (typeof validationGates)[number];

/** V1Validation: what a caller reads. */
export interface Verdict {
  readonly state: ValidationState;
  readonly failing_gate: FailingGate | null;
  /** One sentence that names the state and the gate. */
  readonly summary: string;
}

/** How one gate stands in a grade; a gate behind one that did not clear is not reached. */
export type GateState = 'cleared' | 'too_early' | 'failed' | 'not_reached';

/** One gate of a grade, as it is stored and shown. */
export interface GateResult {
  readonly gate: FailingGate;
  readonly state: GateState;
  /** What the gate goes by: counts, rates, p values, and what is required of them. */
  readonly figures: Readonly<Record<string, number>>;
  /** What is still needed, or what is wrong; absent when the gate cleared or was not reached. */
  readonly needs?: string;
}

/** What became of the matured records of one score band that outcome data names. */
export interface BandRate {
  /** Such as `0-19`. */
  readonly scores: string;
  readonly records: number;
  readonly conversions: number;
  /** Conversions by records, with its 95 % interval (Wilson), 0 to 1; 0 and 0 to 1 where there are no records. */
  readonly rate: number;
  readonly low: number;
  readonly high: number;
}

/** The score bands by which models are graded, lowest first. A prediction's `band` is an index of this list. */
export const bandScores = ['0-19', '20-39', '40-59', '60-79', '80-100'] as const;

/** Cohort records that the first gate asks for. */
export const requiredPredictions = 200;

/** The verdict on timing models. */
export const notApplicable: Verdict = {
  state: 'not_applicable',
  failing_gate: null,
  summary: 'Not applicable: timing models are not graded by the forward-cohort gates.',
};

/** The verdict when the real one cannot be read, or is too old to claim anything. */
export const unresolved: Verdict = {
  state: 'unresolved',
  failing_gate: null,
  summary: 'Unresolved: the validation state could not be read, so no gate is claimed.',
};

/** The verdict on a model that has never been graded. */
export const notYetGraded: Verdict = {
  state: 'too_early_to_grade',
  failing_gate: 'predictions_recorded',
  summary: `Too early to grade at predictions_recorded: this model has not been graded yet; ${requiredPredictions} predictions are required.`,
};

/** Whether the deploy policy `block` lets a model with this verdict score. */
export const isCleared = ({ state }: Verdict): boolean => state === 'passed' || state === 'not_applicable';
