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
