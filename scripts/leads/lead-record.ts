import type { LeadProfile } from './lead-profile.js';
import type { SeededRandom } from './seeded-random.js';
import type { CellKind, CellValue } from './untidy-cells.js';

/** One record as a CRM would send it: flat, CRM field names as keys. */
export type LeadRecord = Readonly<Record<string, CellValue>>;

/** The fields that the demo model reads, with the kind of their tidy cells. */
export const modelFields = {
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
} as const satisfies Record<string, CellKind>;

export type ModelField = keyof typeof modelFields;

/**
 * A lead's fields as a CRM holds them, with the gaps of a real table. Small private companies do not publish their
 * revenue, imported lists bring no consent, and visitors who decline cookies are not counted.
 */
export function tidyFields(profile: LeadProfile, now: Date, random: SeededRandom): LeadRecord {
  const { behaviour, source } = profile;
  const isImported = source.value === 'List Import' || source.value === 'Trade Show';
  const unless = (missing: number, value: CellValue) => (random.chance(missing) ? null : value);
  const daysAgo = (days: number): string => isoSecond(new Date(now.getTime() - days * 86_400_000));
  const countsVisits = !random.chance(profile.country.declinesCookies);
  const knowsTitle = !random.chance(isImported ? 0.25 : 0.06);
  return {
    Company: profile.company,
    Contact: profile.contact,
    'Job Title': knowsTitle ? profile.jobTitle : null,
    'Lead Source': unless(0.015, source.value),
    Industry: unless(0.05, profile.industry.value),
    Country: unless(0.03, profile.country.value),
    Seniority: knowsTitle ? profile.seniority.value : null,
    'Current Solution': unless(behaviour.demoRequested ? 0.05 : 0.3, profile.currentSolution.value),
    'Products of Interest': profile.products.map((product) => product.value).join(';') || null,
    'Number of Employees': unless(isImported ? 0.2 : 0.06, profile.employees),
    'Annual Revenue': unless(profile.employees < 50 ? 0.4 : 0.12, profile.annualRevenueUsd),
    'Created Date': daysAgo(behaviour.createdDaysAgo).slice(0, 10),
    'Last Activity Date': behaviour.lastActivityDaysAgo === null ? null : daysAgo(behaviour.lastActivityDaysAgo),
    'Website Visits (30d)': countsVisits ? behaviour.websiteVisits : null,
    'Pages Per Visit': countsVisits ? behaviour.pagesPerVisit : null,
    'Email Opens': behaviour.emailOptOut ? null : behaviour.emailOpens,
    'Email Click Rate': behaviour.emailClickRate,
    'Email Opt Out': unless(isImported ? 0.5 : 0.02, behaviour.emailOptOut),
    'Demo Requested': unless(0.01, behaviour.demoRequested),
  };
}

/** In UTC, as `2026-03-14T09:26:53Z`. */
export const isoSecond = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`;

/**
 * Writes records as CSV after RFC 4180: a header line, CRLF after every line, quotes where they are needed. Null and
 * absent cells are empty. The columns are the records' keys, in order of first appearance.
 */
export function leadsCsv(records: readonly LeadRecord[]): string {
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const lines = [columns, ...records.map((record) => columns.map((column) => record[column] ?? ''))];
  return lines.map((cells) => `${cells.map((cell) => csvCell(String(cell))).join(',')}\r\n`).join('');
}

/** Quotes outer spaces too: they are data, and some readers drop them otherwise. */
const csvCell = (cell: string): string => (/[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
