import type { Verdict } from '../../../shared/contract/verdict.js';

export const passed: Verdict = {
  state: 'passed',
  failing_gate: null,
  summary: 'Passed: all six validation gates cleared on 1,240 matured predictions, with top-band lift 2.1x.',
};
export const failed: Verdict = {
  state: 'failed',
  failing_gate: 'rate_rises_with_band',
  summary: 'Failed at rate_rises_with_band: conversion does not rise with score band across 1,240 matured predictions.',
};
export const tooEarly: Verdict = {
  state: 'too_early_to_grade',
  failing_gate: 'matured_cohort',
  summary: 'Too early to grade at matured_cohort: 140 of 200 required predictions have completed the 90-day window.',
};
export const unresolved: Verdict = {
  state: 'unresolved',
  failing_gate: null,
  summary: 'Unresolved: the validation state could not be read, so no gate is claimed.',
};
export const notApplicable: Verdict = {
  state: 'not_applicable',
  failing_gate: null,
  summary: 'Not applicable: timing models are not graded by the forward-cohort gates.',
};
