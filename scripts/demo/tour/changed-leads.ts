import type { CellValue, LeadRecord } from '../lead-record.js';
import { type SeededRandom, seededRandom } from '../seeded-random.js';

/** What a CRM knows of one lead since it was last scored. */
export interface LeadChange {
  /** `crm_id` and the fields whose values are new; `crm_id` alone when nothing has happened. */
  readonly record: LeadRecord;
  /** What happened, in a few words; undefined when nothing did. */
  readonly what: string | undefined;
}

const changedShare = 0.1;
const warmerShare = 0.6;

/**
 * Makes up what some leads, about one in ten, do next: most come closer, the others turn away.
 * @param leads as they were sent before, with `crm_id`
 * @param options.seed the same seed gives the same changes
 * @param options.now when they happen
 * @returns one for each lead, in their order
 */
export function changedLeads(
  leads: readonly LeadRecord[],
  { seed, now }: { readonly seed: number; readonly now: Date },
): LeadChange[] {
  const random = seededRandom(seed);
  return leads.map((lead) => {
    const crmId = lead.crm_id ?? null;
    if (!random.chance(changedShare)) return { record: { crm_id: crmId }, what: undefined };
    const { fields, what } = random.chance(warmerShare) ? warmer(random, now) : colder();
    const changed = Object.entries(fields).filter(([name, value]) => lead[name] !== value);
    return { record: { crm_id: crmId, ...Object.fromEntries(changed) }, what };
  });
}

interface Happening {
  readonly fields: Readonly<Record<string, CellValue>>;
  readonly what: string;
}

function warmer(random: SeededRandom, now: Date): Happening {
  const visits = random.integer(6, 18);
  const asksForDemo = random.chance(0.5);
  return {
    fields: {
      'Last Activity Date': `${now.toISOString().slice(0, 19)}Z`,
      'Website Visits (30d)': visits,
      'Pages Per Visit': random.integer(25, 70) / 10,
      'Email Opens': random.integer(3, 9),
      ...(asksForDemo ? { 'Demo Requested': true } : {}),
    },
    what: `${visits} visits${asksForDemo ? ', wants a demo' : ', opens e-mails'}`,
  };
}

const colder = (): Happening => ({
  fields: { 'Email Opt Out': true, 'Website Visits (30d)': 0, 'Demo Requested': false },
  what: 'opts out, no visits',
});
