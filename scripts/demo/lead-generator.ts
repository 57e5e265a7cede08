import { conversionProbability } from './lead-conversion.js';
import { drawLeadProfile } from './lead-profile.js';
import { type CellValue, type LeadRecord, leadRecord, MODEL_FIELDS, type ModelField } from './lead-record.js';
import { type SeededRandom, seededRandom } from './seeded-random.js';
import { untidyCell } from './untidy-cells.js';

/** A made-up lead. Only `record` may be shown to a model. */
export interface GeneratedLead {
  /** What a CRM would send: `crm_id`, the fields that the demo model reads, and some that it does not. */
  readonly record: LeadRecord;
  /** The hidden truth: whether this lead converts within the horizon. */
  readonly converted: 0 | 1;
  /** The fields whose cell was written untidily. */
  readonly untidyFields: readonly ModelField[];
}

/**
 * Makes a believable B2B lead table. The same seed, count and `now` always give the same rows, and fewer rows are the
 * beginning of more. About 14 % of leads convert; about 6 % of the cells that a model reads are untidy.
 * @param seed any whole number (its lowest 32 bits count)
 * @param count how many leads; their `crm_id`s run from LEAD-00001
 * @param now the time of the export; all dates are relative to it
 */
export function generateLeads({ seed, count, now }: LeadTable): GeneratedLead[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, (_, index) => generateLead({ number: index + 1, now, random }));
}

export interface LeadTable {
  readonly seed: number;
  readonly count: number;
  readonly now: Date;
}

const UNTIDY_SHARE = 0.07;

function generateLead({ number, now, random }: LeadDraw): GeneratedLead {
  const profile = drawLeadProfile(random);
  const crmId = `LEAD-${String(number).padStart(5, '0')}`;
  const converted = random.chance(conversionProbability(profile)) ? 1 : 0;
  const record: Record<string, CellValue> = { ...leadRecord({ profile, crmId, now, random }) };
  const untidyFields: ModelField[] = [];
  for (const field of Object.keys(MODEL_FIELDS) as ModelField[]) {
    const value = record[field] ?? null;
    if (value === null || !random.chance(UNTIDY_SHARE)) continue;
    record[field] = untidyCell({ field, value, random });
    untidyFields.push(field);
  }
  return { record, converted, untidyFields };
}

interface LeadDraw {
  readonly number: number;
  readonly now: Date;
  readonly random: SeededRandom;
}
