import { sampleBundle } from '../../support/models/sample-bundle.js';
import { removePredictions } from '../../support/service/prediction-rows.js';
import type { TestWorkspace, WorkspaceOptions } from '../../support/service/workspace.js';
import type { LeadPlan, ValidationBody } from './graded-leads.js';

/** Likelihoods far below the raw scores: 24 expected conversions of 250 leads. */
const cautious = sampleBundle({ manifest: { calibration: { kind: 'platt', a: 1, b: -3 } } });

export const rising: LeadPlan = { perBand: 50, conversions: [5, 15, 25, 35, 45] };
export const flat: LeadPlan = { perBand: 50, conversions: [25, 25, 25, 25, 25] };
const dropping: LeadPlan = { perBand: 50, conversions: [5, 40, 15, 30, 45] };
const barelyBetter: LeadPlan = { perBand: 50, conversions: [10, 20, 25, 25, 25] };
const few: LeadPlan = { perBand: 50, conversions: [0, 1, 2, 3, 4] };

/** A state, the leads and steps that lead to it, and the expected verdict. */
export interface StateCase {
  /** Completes the title "returns ...". */
  readonly title: string;
  readonly plan: LeadPlan;
  readonly options?: WorkspaceOptions;
  /** The number of leads with an outcome; all by default. */
  readonly named?: number;
  /** Days until the grade; past the horizon by default. */
  readonly afterDays?: number;
  /** Days until a verdict is possible, if the summary names that day. */
  readonly verdictDays?: number;
  /** Runs before the grade. */
  readonly harm?: (own: TestWorkspace) => Promise<unknown>;
  readonly expected: Pick<ValidationBody, 'state' | 'failing_gate' | 'summary'>;
}

/** Removes the last row of a document from each column. */
const oneRow = { crm_ids: 1, scores: 1, likelihoods: 1, fields: 1 } as const;

/** Each state and each failing gate. */
export const stateCases: readonly StateCase[] = [
  {
    title: 'passed when every gate is cleared',
    plan: rising,
    expected: {
      state: 'passed',
      failing_gate: null,
      summary: 'Passed: all six validation gates cleared on 250 matured predictions, with top-band lift 1.8x.',
    },
  },
  {
    title: 'too_early_to_grade at predictions_recorded for fewer than 200 leads',
    plan: { perBand: 39, conversions: rising.conversions },
    expected: {
      state: 'too_early_to_grade',
      failing_gate: 'predictions_recorded',
      summary: 'Too early to grade at predictions_recorded: 195 of 200 required predictions have been recorded.',
    },
  },
  {
    title: 'failed at predictions_recorded when no prediction of a counted call is stored a day later',
    plan: rising,
    afterDays: 1.01,
    harm: (own) => removePredictions(own.service.stores.database, own.id),
    expected: {
      state: 'failed',
      failing_gate: 'predictions_recorded',
      summary:
        'Failed at predictions_recorded: the ledger has counted calls for more than 24 hours, but no prediction is stored.',
    },
  },
  {
    title: 'too_early_to_grade at predictions_recorded when no prediction is stored within that day',
    plan: rising,
    afterDays: 0.9,
    harm: (own) => removePredictions(own.service.stores.database, own.id),
    expected: {
      state: 'too_early_to_grade',
      failing_gate: 'predictions_recorded',
      summary: 'Too early to grade at predictions_recorded: 0 of 200 required predictions have been recorded.',
    },
  },
  {
    title: 'too_early_to_grade at cohort_reconciles without outcome data',
    plan: rising,
    named: 0,
    expected: {
      state: 'too_early_to_grade',
      failing_gate: 'cohort_reconciles',
      summary: 'Too early to grade at cohort_reconciles: no outcome data covers the cohort of 250 predictions yet.',
    },
  },
  {
    title: 'failed at cohort_reconciles when outcome data names too few leads',
    plan: rising,
    named: 237,
    expected: {
      state: 'failed',
      failing_gate: 'cohort_reconciles',
      summary:
        'Failed at cohort_reconciles: outcome data names 237 of 250 cohort records, and 95 % of them are required.',
    },
  },
  {
    title: 'failed at cohort_reconciles when a stored row is missing',
    plan: rising,
    harm: (own) =>
      own.service.stores.predictions.updateOne({ org: own.id, scores: { $exists: true } }, { $pop: oneRow }),
    expected: {
      state: 'failed',
      failing_gate: 'cohort_reconciles',
      summary: 'Failed at cohort_reconciles: the stored rows of 1 request differ from what the ledger counted.',
    },
  },
  {
    title: 'too_early_to_grade at matured_cohort before the horizon is over',
    plan: rising,
    afterDays: 89.9,
    verdictDays: 90,
    expected: {
      state: 'too_early_to_grade',
      failing_gate: 'matured_cohort',
      summary: 'Too early to grade at matured_cohort: 0 of 200 required predictions have completed the 90-day window.',
    },
  },
  {
    title: 'too_early_to_grade at outcomes_observed for few conversions when few were expected',
    plan: few,
    options: { bundle: cautious },
    expected: {
      state: 'too_early_to_grade',
      failing_gate: 'outcomes_observed',
      summary: 'Too early to grade at outcomes_observed: 10 of 30 required conversions have been observed.',
    },
  },
  {
    title: 'failed at outcomes_observed for far fewer conversions than the likelihoods add up to',
    plan: few,
    expected: {
      state: 'failed',
      failing_gate: 'outcomes_observed',
      summary: "Failed at outcomes_observed: 10 conversions were observed where the model's likelihoods add up to 125.",
    },
  },
  {
    title: 'failed at rate_rises_with_band when the rate does not rise',
    plan: flat,
    expected: {
      state: 'failed',
      failing_gate: 'rate_rises_with_band',
      summary:
        'Failed at rate_rises_with_band: conversion does not rise with score band across 250 matured predictions.',
    },
  },
  {
    title: 'failed at rate_rises_with_band when the rate rises overall but drops between two bands',
    plan: dropping,
    expected: {
      state: 'failed',
      failing_gate: 'rate_rises_with_band',
      summary:
        'Failed at rate_rises_with_band: conversion drops from scores 20-39 to 40-59 across 250 matured predictions.',
    },
  },
  {
    title: 'failed at top_band_lift when the top band is hardly better',
    plan: barelyBetter,
    expected: {
      state: 'failed',
      failing_gate: 'top_band_lift',
      summary: 'Failed at top_band_lift: top-band lift is 1.19x across 250 matured predictions, and 1.2x is required.',
    },
  },
];
