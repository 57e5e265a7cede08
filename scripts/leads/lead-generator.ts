import { conversionProbability, drawLeadProfile } from './lead-profile.js';
import { isoSecond, type LeadRecord, type ModelField, modelFields, tidyFields } from './lead-record.js';
import { type SeededRandom, seededRandom } from './seeded-random.js';
import { type CellValue, untidyCell } from './untidy-cells.js';

/** A made-up lead. Only `record` may be shown to a model. */
export interface GeneratedLead {
  /** `crm_id`, the fields that the demo model reads, and some that it does not read. */
  readonly record: LeadRecord;
  /** Whether this lead converts within the horizon. */
  readonly converted: 0 | 1;
  /** The fields whose cell was written untidily. */
  readonly untidyFields: readonly ModelField[];
}

/**
 * Makes a believable B2B lead table. The same arguments always give the same rows, and a smaller `count` gives the
 * first of them. About 14 % of leads convert; about 6 % of the cells that a model reads are untidy.
 * @param table.seed any whole number (its lowest 32 bits count)
 * @param table.now the time of the export; all dates are relative to it
 */
export function generateLeads(table: {
  readonly seed: number;
  readonly count: number;
  readonly now: Date;
}): GeneratedLead[] {
  const random = seededRandom(table.seed);
  return Array.from({ length: table.count }, (_, index) => generateLead(random, index + 1, table.now));
}

const untidyShare = 0.07;

function generateLead(random: SeededRandom, number: number, now: Date): GeneratedLead {
  const profile = drawLeadProfile(random);
  const converted = random.chance(conversionProbability(profile)) ? 1 : 0;
  const record: Record<string, CellValue> = {
    crm_id: `LEAD-${String(number).padStart(5, '0')}`,
    ...tidyFields(profile, now, random),
  };
  const untidyFields: ModelField[] = [];
  for (const field of Object.keys(modelFields) as ModelField[]) {
    const value = record[field] ?? null;
    if (value === null || !random.chance(untidyShare)) continue;
    record[field] = untidyCell(modelFields[field], value, random);
    untidyFields.push(field);
  }
  return { record, converted, untidyFields };
}

/** The new values of one lead since it was last scored. */
export interface LeadChange {
  /** `crm_id` and the changed fields; `crm_id` alone when nothing happened. */
  readonly record: LeadRecord;
  /** The event in a few words; undefined when nothing happened. */
  readonly what: string | undefined;
}

/**
 * Makes up what happens next to about one lead in ten: 60 % of these come closer, the others turn away.
 * @param leads their records as sent before
 * @returns one for each lead, in their order
 */
export function changedLeads(
  leads: readonly LeadRecord[],
  { seed, now }: { readonly seed: number; readonly now: Date },
): LeadChange[] {
  const random = seededRandom(seed);
  return leads.map((lead) => {
    const crmId = lead.crm_id ?? null;
    if (!random.chance(0.1)) return { record: { crm_id: crmId }, what: undefined };
    const { fields, what } = random.chance(0.6) ? comesCloser(random, now) : turnsAway;
    const changed = Object.entries(fields).filter(([name, value]) => lead[name] !== value);
    return { record: { crm_id: crmId, ...Object.fromEntries(changed) }, what };
  });
}

function comesCloser(random: SeededRandom, now: Date): { fields: LeadRecord; what: string } {
  const visits = random.integer(6, 18);
  const asksForDemo = random.chance(0.5);
  const fields = {
    'Last Activity Date': isoSecond(now),
    'Website Visits (30d)': visits,
    'Pages Per Visit': random.integer(25, 70) / 10,
    'Email Opens': random.integer(3, 9),
    ...(asksForDemo ? { 'Demo Requested': true } : {}),
  };
  return { fields, what: `${visits} visits, ${asksForDemo ? 'wants a demo' : 'opens e-mails'}` };
}

const turnsAway: { readonly fields: LeadRecord; readonly what: string } = {
  fields: { 'Email Opt Out': true, 'Website Visits (30d)': 0, 'Demo Requested': false },
  what: 'opts out, no visits',
};
