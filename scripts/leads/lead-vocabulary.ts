/*
 * The words of the demo's lead table, all invented. `weight` is how common a word is, on any scale. `effect` is added
 * to the log-odds that the lead converts.
 */

/** `intent`: added to the lead's buying intent, in standard deviations. */
export const leadSources = [
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
] as const;

/** `revenuePerHeadUsd`: typical yearly revenue per employee. */
export const industries = [
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
] as const;

/** `declinesCookies`: share of visitors whose visits the website cannot count. */
export const countries = [
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
] as const;

/** Ascending; `weight` holds for a mid-sized company. */
export const seniorities = [
  { value: 'Individual Contributor', weight: 30, effect: -0.5 },
  { value: 'Manager', weight: 30, effect: 0 },
  { value: 'Director', weight: 20, effect: 0.5 },
  { value: 'VP', weight: 11, effect: 0.6 },
  { value: 'C-Level', weight: 9, effect: 0.3 },
] as const;

export const jobTitles = {
  'Individual Contributor': ['Analyst', 'Account Executive', 'Engineer'],
  Manager: ['Marketing Manager', 'Sales Manager', 'Operations Manager'],
  Director: ['Director of Sales', 'Director, Revenue Operations'],
  VP: ['VP Sales', 'VP Marketing', 'Vice President, Growth'],
  'C-Level': ['Chief Executive Officer', 'CRO', 'CMO', 'COO'],
} as const;

/** "None" is an answer, not a missing value. */
export const currentSolutions = [
  { value: 'None', weight: 30, effect: 0.1 },
  { value: 'Spreadsheet', weight: 34, effect: 0.35 },
  { value: 'Competitor', weight: 24, effect: -0.45 },
  { value: 'In-house', weight: 12, effect: -0.2 },
] as const;

export const products = [
  { value: 'Analytics', weight: 30, effect: 0.1 },
  { value: 'Lead Routing', weight: 22, effect: 0.3 },
  { value: 'CRM Sync', weight: 26, effect: 0.2 },
  { value: 'Email Automation', weight: 24, effect: -0.1 },
  { value: 'Forecasting', weight: 14, effect: 0.35 },
  { value: 'Data Enrichment', weight: 12, effect: 0.1 },
] as const;

const words = (text: string): string[] => text.split(' ');

// Some names carry a comma, quotes or letters beyond ASCII, as real tables do.
export const companyStems = words(
  'Norvale Brightwater Kestrel Oakhaven Lumenar Tarnwick Åkerlund Solvane Pinemark Quillon Vastera Hollin ' +
    'Meridale Grünfeld Corvane Ostrava Belcourt Fenwright',
);
export const companyTrades = words(
  'Analytics Logistics Systems Foods Health Partners Works Labs Capital Components Freight Media',
);
export const legalForms = [', Inc.', ' GmbH', ' Ltd', ' LLC', ' AB', ' B.V.', ' SAS'];
export const firstNames = words(
  'Ada Jonas Priya Mateo Ingrid Samir Chloé Tom Wanda Felix Noor Elif Grace Lukas Inès Oscar',
);
export const lastNames = words(
  "Lindqvist Marsh Okafor Petrov Haddad O'Neill Sato Weber Duarte Novák Rossi Bell Kaur Moreau Jansen Reyes",
);
