/** The validation verdict: whether a model has earned its use (docs/validation.md). */

export const validationStates = ['passed', 'failed', 'too_early_to_grade', 'unresolved', 'not_applicable'] as const;
export type ValidationState = (typeof validationStates)[number];

/** The gates, in the order of their evaluation. */
export const validationGates = [
  'predictions_recorded',
  'cohort_reconciles',
  'matured_cohort',
  'outcomes_observed',
  'rate_rises_with_band',
  'top_band_lift',
] as const;
export type FailingGate = (typeof validationGates)[number];

/** V1Validation: the verdict in a reply. */
export interface Verdict {
  readonly state: ValidationState;
  readonly failing_gate: FailingGate | null;
  /** One sentence with the state and the gate. */
  readonly summary: string;
}

/** The state of one gate in a grade. Gates after the first that did not clear are `not_reached`. */
export type GateState = 'cleared' | 'too_early' | 'failed' | 'not_reached';

/** One gate of a grade, as stored and shown. */
export interface GateResult {
  readonly gate: FailingGate;
  readonly state: GateState;
  /** The gate's inputs: counts, rates, p values and their thresholds. */
  readonly figures: Readonly<Record<string, number>>;
  /** The missing or wrong input, or the gate that must clear first; absent when the gate cleared. */
  readonly needs?: string;
}

/** Conversions among the matured records of one score band that have an outcome. */
export interface BandRate {
  /** Such as `0-19`. */
  readonly scores: string;
  readonly records: number;
  readonly conversions: number;
  /** Conversions / records with its 95 % Wilson interval, 0 to 1. Without records: rate 0, interval 0 to 1. */
  readonly rate: number;
  readonly low: number;
  readonly high: number;
}

/** The score bands by which models are graded, lowest first. A prediction's `band` is an index into this list. */
export const bandScores = ['0-19', '20-39', '40-59', '60-79', '80-100'] as const;

/** Cohort records that the first gate requires. */
export const requiredPredictions = 200;

/** The days within which a conversion counts. @param facts the `validation` section of a manifest */
export const horizonDaysOf = (facts: { readonly horizon_days?: number } | undefined): number =>
  facts?.horizon_days ?? 90;

/** The lift of the top band that the last gate requires. */
export const requiredLift = 1.2;

/** The verdict on timing models, which are not graded. */
export const notApplicable: Verdict = {
  state: 'not_applicable',
  failing_gate: null,
  summary: 'Not applicable: timing models are not graded by the forward-cohort gates.',
};

/** The verdict when the stored one cannot be read or is too old. */
export const unresolved: Verdict = {
  state: 'unresolved',
  failing_gate: null,
  summary: 'Unresolved: the validation state could not be read, so no gate is claimed.',
};

/** The pools check this often for versions whose grade is due. A version without a grade is due at once. */
export const firstGradeWithinMinutes = 15;

/** The verdict on a model that has never been graded. */
export const notYetGraded: Verdict = {
  state: 'too_early_to_grade',
  failing_gate: 'predictions_recorded',
  summary:
    'Too early to grade at predictions_recorded: no grade has counted the predictions of this version yet; ' +
    `the worker pools grade a new version within ${firstGradeWithinMinutes} minutes.`,
};

/** The `needs` of a gate that was not reached. */
export const waitsFor = (gate: FailingGate): string => `${gate} must clear first`;

/** The gates of a version that has never been graded. */
export const ungradedGates: readonly GateResult[] = validationGates.map((gate) => ({
  gate,
  state: 'not_reached',
  figures: {},
  needs:
    gate === 'predictions_recorded' ? 'no grade has counted the predictions yet' : waitsFor('predictions_recorded'),
}));

/** Whether a model with this verdict may score under the deploy policy `block`. */
export const isCleared = ({ state }: Verdict): boolean => state === 'passed' || state === 'not_applicable';
