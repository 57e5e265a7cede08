import type { LeadProfile } from './lead-profile.js';
import type { SeededRandom } from './seeded-random.js';

/** A cell of a CRM record. Null: the CRM holds nothing there. */
export type CellValue = string | number | boolean | null;

/** One record as a CRM would send it: flat, CRM field names as keys. */
export type LeadRecord = Readonly<Record<string, CellValue>>;

/** The fields that the demo model reads; `kind` says how their cells look when tidy. */
export const MODEL_FIELDS = {
  'Lead Source': 'category',
  Industry: 'category',
  Country: 'category',
  Seniority: 'category',
  'Current Solution': 'category',
  'Products of Interest': 'list',
  'Number of Employees': 'count',
  'Annual Revenue': 'money',
  'Created Date': 'date',
  'Last Activity Date': 'date',
  'Website Visits (30d)': 'count',
  'Pages Per Visit': 'decimal',
  'Email Opens': 'count',
  'Email Click Rate': 'fraction',
  'Email Opt Out': 'flag',
  'Demo Requested': 'flag',
} as const;

export type ModelField = keyof typeof MODEL_FIELDS;

/**
 * Writes a lead down as a tidy CRM record, leaving empty what such a table would not know: small private companies do
 * not publish their revenue, imported lists bring no consent, people who decline cookies cannot be counted.
 * @param crmId the record's `crm_id`
 * @param now the time that the table is exported; all dates lie before it
 */
export function leadRecord({ profile, crmId, now, random }: RecordParts): LeadRecord {
  const { behaviour, source } = profile;
  const imported = source.value === 'List Import' || source.value === 'Trade Show';
  const unless = <T extends CellValue>(missing: number, value: T): T | null =>
    random.chance(missing) ? null : value;
  const countedVisits = !random.chance(profile.country.declinesCookies);
  const titleKnown = !random.chance(imported ? 0.25 : 0.06);
  return {
    crm_id: crmId,
    Company: profile.company,
    Contact: profile.contact,
    'Job Title': titleKnown ? profile.jobTitle : null,
    'Lead Source': unless(0.015, source.value),
    Industry: unless(0.05, profile.industry.value),
    Country: unless(0.03, profile.country.value),
    Seniority: titleKnown ? profile.seniority.value : null,
    'Current Solution': unless(behaviour.demoRequested ? 0.05 : 0.3, profile.currentSolution.value),
    'Products of Interest': profile.products.map((product) => product.value).join(';') || null,
    'Number of Employees': unless(imported ? 0.2 : 0.06, profile.employees),
    'Annual Revenue': unless(profile.employees < 50 ? 0.4 : 0.12, profile.annualRevenueUsd),
    'Created Date': isoSecond({ now, daysAgo: behaviour.createdDaysAgo }).slice(0, 10),
    'Last Activity Date':
      behaviour.lastActivityDaysAgo === null
        ? null
        : isoSecond({ now, daysAgo: behaviour.lastActivityDaysAgo }),
    'Website Visits (30d)': countedVisits ? behaviour.websiteVisits : null,
    'Pages Per Visit': countedVisits ? behaviour.pagesPerVisit : null,
    'Email Opens': behaviour.emailOptOut ? null : behaviour.emailOpens,
    'Email Click Rate': behaviour.emailClickRate,
    'Email Opt Out': unless(imported ? 0.5 : 0.02, behaviour.emailOptOut),
    'Demo Requested': unless(0.01, behaviour.demoRequested),
  };
}

export interface RecordParts {
  readonly profile: LeadProfile;
  readonly crmId: string;
  readonly now: Date;
  readonly random: SeededRandom;
}

/** ISO 8601 in UTC, to the second: `2026-03-14T09:26:53Z`. */
function isoSecond({ now, daysAgo }: { now: Date; daysAgo: number }): string {
  const at = new Date(now.getTime() - daysAgo * 86_400_000);
  return `${at.toISOString().slice(0, 19)}Z`;
}
