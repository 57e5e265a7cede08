import { dayMs } from '../../shared/contract/dates.js';
import { generateLeads } from './lead-generator.js';
import { isoSecond, type LeadRecord } from './lead-record.js';

/** The table has an export for each half month of a year. */
const exports = 24;
const daysBetween = 15;

/** The columns of `pastLeads` that no CRM sends with a lead: when a row was so, and the outcome, yes or no. */
export const pastColumns = { asOf: 'As Of', won: 'Won' } as const;

/**
 * Makes up a table of past leads, as a CRM would export it to train a model. Each lead is as it was on a day of the
 * last year, with a column that says whether it converted. The leads differ from those of other seeds.
 * @param table.count about so many leads
 */
export function pastLeads(table: { readonly seed: number; readonly count: number; readonly now: Date }): LeadRecord[] {
  const perExport = Math.ceil(table.count / exports);
  return Array.from({ length: exports }, (_, index) => index).flatMap((index) => {
    const now = new Date(table.now.getTime() - (exports - 1 - index) * daysBetween * dayMs);
    const leads = generateLeads({ seed: table.seed + index, count: perExport, now });
    return leads.map(({ record, converted }, number) => ({
      ...record,
      crm_id: `PAST-${String(index * perExport + number + 1).padStart(5, '0')}`,
      [pastColumns.asOf]: isoSecond(now),
      [pastColumns.won]: converted === 1 ? 'yes' : 'no',
    }));
  });
}
