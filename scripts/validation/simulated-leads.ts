import type { Outcome } from '../../shared/store/outcomes.js';
import { dayMs } from '../../shared/utc-day.js';
import { generateLeads } from '../demo/lead-generator.js';
import type { LeadRecord } from '../demo/lead-record.js';
import { type SeededRandom, seededRandom } from '../demo/seeded-random.js';

/** What one week brings to the organisation that is simulated. */
export interface WeekOfLeads {
  /** As the CRM sends them: new leads, a few that were scored before, a few without a crm_id. */
  readonly records: readonly LeadRecord[];
  /** What the CRM says at the end of the week: the new leads are open, and some leads have converted. */
  readonly outcomes: readonly Outcome[];
}

const meanDelayDays = 25;
const repeatShare = 0.05;
const anonymousShare = 0.02;

/**
 * The leads of an organisation, week by week, from the demo's generator: who a lead is decides both what its record says
 * and, by a hidden truth that no model sees whole, whether it will convert. A lead that converts does so after 25 days in
 * the mean, some only after the horizon.
 */
export class SimulatedLeads {
  private readonly random: SeededRandom;
  /** Conversions that are still to come. */
  private coming: Outcome[] = [];
  private readonly known: LeadRecord[] = [];

  constructor(private readonly options: { readonly seed: number; readonly leadsAWeek: number }) {
    this.random = seededRandom(options.seed);
  }

  /**
   * @param week number of the week, from 0
   * @param scoredAtMs when its records are scored
   * @param reportedAtMs when the CRM reports: conversions up to then are known
   */
  week(
    week: number,
    { scoredAtMs, reportedAtMs }: { readonly scoredAtMs: number; readonly reportedAtMs: number },
  ): WeekOfLeads {
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
      this.coming.push({ crmId, converted: true, at: new Date(scoredAtMs + 1 + Math.round(delayMs)) });
    }
    const repeats = this.known.filter(() => this.random.chance(repeatShare / Math.max(1, week)));
    this.known.push(...records.filter((record) => 'crm_id' in record));
    const happened = this.coming.filter(({ at }) => at.getTime() <= reportedAtMs);
    this.coming = this.coming.filter(({ at }) => at.getTime() > reportedAtMs);
    return { records: [...records, ...repeats], outcomes: [...named, ...happened] };
  }
}
