/**
 * The words of the demo's lead table, with how common each is (`weight`, any scale) and how much it moves the
 * log-odds that a lead converts (`effect`). All of it is invented.
 */
export interface Choice {
  readonly value: string;
  readonly weight: number;
  readonly effect: number;
}

/** Where leads come from; `intent` shifts how keen they are (in standard deviations), which shows in behaviour. */
export const LEAD_SOURCES: readonly (Choice & { readonly intent: number })[] = [
  { value: 'Website', weight: 24, effect: 0.1, intent: 0.2 },
  { value: 'Organic Search', weight: 16, effect: 0.1, intent: 0.1 },
  { value: 'Paid Search', weight: 14, effect: -0.1, intent: 0 },
  { value: 'Webinar', weight: 11, effect: 0.2, intent: 0.3 },
  { value: 'Referral', weight: 8, effect: 0.9, intent: 0.6 },
  { value: 'Partner', weight: 6, effect: 0.7, intent: 0.3 },
  { value: 'Trade Show', weight: 8, effect: -0.3, intent: -0.3 },
  { value: 'Cold Outreach', weight: 9, effect: -0.8, intent: -0.7 },
  { value: 'Podcast', weight: 2, effect: 0.2, intent: 0.1 },
  { value: 'List Import', weight: 2, effect: -0.9, intent: -0.9 },
];

/** `revenuePerHeadUsd`: the typical yearly revenue per employee. */
export const INDUSTRIES: readonly (Choice & { readonly revenuePerHeadUsd: number })[] = [
  { value: 'Software', weight: 22, effect: 0.5, revenuePerHeadUsd: 210_000 },
  { value: 'Financial Services', weight: 12, effect: 0.4, revenuePerHeadUsd: 340_000 },
  { value: 'Manufacturing', weight: 15, effect: 0.1, revenuePerHeadUsd: 260_000 },
  { value: 'Healthcare', weight: 10, effect: -0.1, revenuePerHeadUsd: 150_000 },
  { value: 'Retail', weight: 11, effect: -0.2, revenuePerHeadUsd: 190_000 },
  { value: 'Logistics', weight: 7, effect: 0.2, revenuePerHeadUsd: 180_000 },
  { value: 'Education', weight: 8, effect: -0.6, revenuePerHeadUsd: 90_000 },
  { value: 'Public Sector', weight: 6, effect: -0.7, revenuePerHeadUsd: 110_000 },
  { value: 'Agriculture', weight: 3, effect: -0.4, revenuePerHeadUsd: 170_000 },
  { value: 'Hospitality', weight: 4, effect: -0.3, revenuePerHeadUsd: 80_000 },
];

/** `declinesCookies`: the share of visitors whose visits the website cannot count. */
export const COUNTRIES: readonly (Choice & { readonly declinesCookies: number })[] = [
  { value: 'United States', weight: 38, effect: 0.2, declinesCookies: 0.03 },
  { value: 'United Kingdom', weight: 14, effect: 0.1, declinesCookies: 0.08 },
  { value: 'Germany', weight: 12, effect: 0.1, declinesCookies: 0.18 },
  { value: 'France', weight: 8, effect: -0.1, declinesCookies: 0.16 },
  { value: 'Netherlands', weight: 5, effect: 0.2, declinesCookies: 0.12 },
  { value: 'Canada', weight: 7, effect: 0.1, declinesCookies: 0.04 },
  { value: 'Australia', weight: 5, effect: 0, declinesCookies: 0.04 },
  { value: 'India', weight: 6, effect: -0.4, declinesCookies: 0.03 },
  { value: 'Brazil', weight: 3, effect: -0.3, declinesCookies: 0.03 },
  { value: 'Sweden', weight: 2, effect: 0.1, declinesCookies: 0.1 },
];

/** From the least senior to the most; `weight` for a mid-sized company. */
export const SENIORITIES: readonly (Choice & { readonly jobTitles: readonly string[] })[] = [
  {
    value: 'Individual Contributor',
    weight: 30,
    effect: -0.5,
    jobTitles: ['Analyst', 'Account Executive', 'Engineer'],
  },
  {
    value: 'Manager',
    weight: 30,
    effect: 0,
    jobTitles: ['Marketing Manager', 'Sales Manager', 'Operations Manager'],
  },
  {
    value: 'Director',
    weight: 20,
    effect: 0.5,
    jobTitles: ['Director of Sales', 'Director, Revenue Operations'],
  },
  { value: 'VP', weight: 11, effect: 0.6, jobTitles: ['VP Sales', 'VP Marketing', 'Vice President, Growth'] },
  { value: 'C-Level', weight: 9, effect: 0.3, jobTitles: ['Chief Executive Officer', 'CRO', 'CMO', 'COO'] },
];

/** What a lead uses today for the job; "None" is an answer, not a missing value. */
export const CURRENT_SOLUTIONS: readonly Choice[] = [
  { value: 'None', weight: 30, effect: 0.1 },
  { value: 'Spreadsheet', weight: 34, effect: 0.35 },
  { value: 'Competitor', weight: 24, effect: -0.45 },
  { value: 'In-house', weight: 12, effect: -0.2 },
];

export const PRODUCTS: readonly Choice[] = [
  { value: 'Analytics', weight: 30, effect: 0.1 },
  { value: 'Lead Routing', weight: 22, effect: 0.3 },
  { value: 'CRM Sync', weight: 26, effect: 0.2 },
  { value: 'Email Automation', weight: 24, effect: -0.1 },
  { value: 'Forecasting', weight: 14, effect: 0.35 },
  { value: 'Data Enrichment', weight: 12, effect: 0.1 },
];
