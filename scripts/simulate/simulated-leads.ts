import { dayMs } from '../../shared/contract/dates.js';
import type { Outcome } from '../../shared/store/validation/outcomes.js';
import { generateLeads } from '../leads/lead-generator.js';
import type { LeadRecord } from '../leads/lead-record.js';
import { type SeededRandom, seededRandom } from '../leads/seeded-random.js';

export interface WeekOfLeads {
  /** New leads, a few repeated leads, a few leads without a crm_id. */
  readonly records: readonly LeadRecord[];
  /** Report of the CRM at the end of the week: the new leads as open, and the conversions of the week. */
  readonly outcomes: readonly Outcome[];
}

const meanDelayDays = 25;
const repeatShare = 0.05;
const anonymousShare = 0.02;

/**
 * The leads of an organisation, week by week, from the demo's generator. Hidden properties of a lead determine its
 * record and its conversion, so no model can predict the conversion exactly. Conversions come after 25 days on average,
 * some after the horizon.
 */
export class SimulatedLeads {
  private readonly random: SeededRandom;
  /** Conversions that the CRM has not reported yet. */
  private pending: Outcome[] = [];
  private readonly known: LeadRecord[] = [];

  constructor(private readonly options: { readonly seed: number; readonly leadsAWeek: number }) {
    this.random = seededRandom(options.seed);
  }

  /**
   * @param week number of the week, from 0
   * @param times.scoredAtMs scoring time of the records
   * @param times.reportedAtMs time of the report, which includes conversions up to then
   */
  week(week: number, times: { readonly scoredAtMs: number; readonly reportedAtMs: number }): WeekOfLeads {
    const { scoredAtMs, reportedAtMs } = times;
    const { seed, leadsAWeek } = this.options;
    const leads = generateLeads({
      seed: seed + 1000 * (week + 1),
      count: leadsAWeek,
      now: new Date(scoredAtMs),
    });
    const records: LeadRecord[] = [];
    const named: Outcome[] = [];
    for (const { record, converted } of leads) {
      const { crm_id, ...fields } = record;
      if (this.random.chance(anonymousShare)) {
        records.push(fields);
        continue;
      }
      const crmId = `W${String(week).padStart(2, '0')}-${crm_id}`;
      records.push({ ...fields, crm_id: crmId });
      named.push({ crmId, converted: false, at: new Date(reportedAtMs) });
      if (converted === 0) continue;
      const delayMs = this.random.exponential(meanDelayDays) * dayMs;
      this.pending.push({ crmId, converted: true, at: new Date(scoredAtMs + 1 + Math.round(delayMs)) });
    }
    const repeats = this.known.filter(() => this.random.chance(repeatShare / Math.max(1, week)));
    this.known.push(...records.filter((record) => 'crm_id' in record));
    const happened = this.pending.filter(({ at }) => at.getTime() <= reportedAtMs);
    this.pending = this.pending.filter(({ at }) => at.getTime() > reportedAtMs);
    return { records: [...records, ...repeats], outcomes: [...named, ...happened] };
  }
}
