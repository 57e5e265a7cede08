import type { UsageReport } from '../../../shared/plans.js';
import type { Verdict } from '../../../shared/verdict.js';

/** Values that the examples of several operations share: one workspace, some time in a month. */

export const exampleModelId = 'mdl_4kTq9ZxW2mNbVc7L';

export const exampleUsage: UsageReport = {
  current: 1250,
  limit: 10_000,
  remaining: 8_750,
  in_grace: false,
  backstop: 20_000,
};

export const exampleTestUsage: UsageReport = {
  current: 12,
  limit: 1_000,
  remaining: 988,
  in_grace: false,
  backstop: null,
};

export const exampleVerdict: Verdict = {
  state: 'passed',
  failing_gate: null,
  summary: 'Passed: all six validation gates cleared on 1,240 matured predictions, with top-band lift 2.1x.',
};

/** The same with the grade behind it: two of its gates and two of its bands. */
export const exampleVerdictDetail = {
  ...exampleVerdict,
  as_of: '2026-11-21T02:00:00.000Z',
  graded_at: '2026-11-21T02:00:01.204Z',
  gates: [
    {
      gate: 'matured_cohort',
      state: 'cleared',
      figures: { matured: 1240, matured_and_joined: 1240, required: 200, horizon_days: 90 },
    },
    {
      gate: 'top_band_lift',
      state: 'cleared',
      figures: { lift: 2.1, lower_bound: 1.62, required_lift: 1.2 },
    },
  ],
  bands: [
    { scores: '0-19', records: 251, conversions: 4, rate: 0.015936, low: 0.00621, high: 0.040273 },
    { scores: '80-100', records: 249, conversions: 26, rate: 0.104418, low: 0.0722, high: 0.148701 },
  ],
} as const;

/** The fields of a lead, as a CRM holds them. */
export const exampleFields = { lead_source: 'Webinar', company_size: 120, demo_requested: true };

/** What `explain` adds to the row of that lead. */
export const exampleReasons = {
  drivers: [
    {
      field: 'demo_requested',
      value: 'true',
      contribution: '0.8123',
      direction: 'positive',
      label: 'Demo requested',
    },
    {
      field: 'lead_source',
      value: 'Webinar',
      contribution: '0.4071',
      direction: 'positive',
      label: 'Lead source',
    },
    {
      field: 'annual_revenue',
      value: '',
      contribution: '-0.1354',
      direction: 'negative',
      label: 'Annual revenue',
    },
  ],
  top_reason_1: 'Demo requested is true (raises the score)',
  top_reason_2: 'Lead source is Webinar (raises the score)',
  top_reason_3: 'Annual revenue is missing (lowers the score)',
} as const;
