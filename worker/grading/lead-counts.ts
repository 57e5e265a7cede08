import type { DayBand } from '../../shared/store/validation-daily.js';
import { dayMs, dayNumber } from '../../shared/utc-day.js';
import { bandScores } from '../../shared/verdict.js';
import { addTo, noLeads } from './band-sum.js';
import { type FirstPrediction, type Word, wayOf } from './lead-standing.js';

/** Leads of one day and band, by their first prediction. */
export interface LeadGroup extends DayBand {
  readonly day: number;
  readonly band: number;
  /** Whether their horizon is over, by the cut; mixed on the day of the cut only. */
  readonly matured: boolean;
  /** When the newest word on any of the cohort came, in ms; 0 without one. */
  readonly lastWordMs: number;
}

type GrowingGroup = { -readonly [Field in keyof LeadGroup]: LeadGroup[Field] };

/** Counts leads by day, band, and whether they have matured. */
export class LeadCounts {
  private readonly groups = new Map<number, GrowingGroup>();
  private readonly horizonMs: number;

  /** @param options `cut`: predictions up to this instant have matured; `days`: those that are counted */
  constructor(
    private readonly options: {
      readonly horizonDays: number;
      readonly cut: Date;
      readonly days: ReadonlySet<number>;
    },
  ) {
    this.horizonMs = options.horizonDays * dayMs;
  }

  /**
   * Counts a lead, on the day of its first prediction.
   * @param word undefined when nothing is known of it
   */
  add(first: FirstPrediction, word: (Word & { readonly received_at: Date }) | undefined): void {
    const day = dayNumber(first.at.getTime());
    if (!this.options.days.has(day)) return;
    const group = this.groupOf(day, first);
    const way = wayOf(first, word, this.horizonMs);
    addTo(group, way);
    if (word !== undefined)
      group.lastWordMs = Math.max(group.lastWordMs, way.cohort * word.received_at.getTime());
  }

  /** What was counted so far, in no order. */
  found(): LeadGroup[] {
    return [...this.groups.values()];
  }

  private groupOf(day: number, { at, band }: FirstPrediction): GrowingGroup {
    const matured = at <= this.options.cut;
    const key = 2 * (bandScores.length * day + band) + Number(matured);
    let group = this.groups.get(key);
    if (group === undefined) {
      group = { day, band, matured, ...noLeads(), lastWordMs: 0 };
      this.groups.set(key, group);
    }
    return group;
  }
}
