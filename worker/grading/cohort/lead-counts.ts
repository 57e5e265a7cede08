import type { DayBand } from '../../../shared/store/validation-daily.js';
import { dayMs, dayNumber } from '../../../shared/utc-day.js';
import { bandScores } from '../../../shared/verdict.js';

/** The figures of a band, or of leads of one, that are being added up. */
export type BandSum = { -readonly [Figure in keyof DayBand]: DayBand[Figure] };

/** Where a sum begins. */
export const noLeads = (): BandSum => ({ cohort: 0, excluded: 0, joined: 0, conversions: 0, likelihood: 0 });

/** Adds figures to a sum. @param sign -1 to take them away */
export function addTo(sum: BandSum, figures: DayBand, sign: 1 | -1 = 1): void {
  sum.cohort += sign * figures.cohort;
  sum.excluded += sign * figures.excluded;
  sum.joined += sign * figures.joined;
  sum.conversions += sign * figures.conversions;
  sum.likelihood += sign * figures.likelihood;
}

/** A lead's first prediction under a version. */
export interface FirstPrediction {
  /** When it was made. */
  readonly at: Date;
  /** Of its score, 0-4. */
  readonly band: number;
  /** In ten-thousandths. */
  readonly likelihood: number;
}

/** What is said of a lead. */
export interface Word {
  readonly converted: boolean;
  readonly at: Date;
}

/**
 * What one lead adds to the figures of its day and band.
 * @param word undefined when nothing is known of the lead
 */
export function wayOf(first: FirstPrediction, word: Word | undefined, horizonMs: number): DayBand {
  const delayMs = word?.converted === true ? word.at.getTime() - first.at.getTime() : undefined;
  if (delayMs !== undefined && delayMs <= 0) return { ...noLeads(), excluded: 1 };
  const joined = word === undefined ? 0 : 1;
  return {
    cohort: 1,
    excluded: 0,
    joined,
    conversions: delayMs !== undefined && delayMs <= horizonMs ? 1 : 0,
    likelihood: joined * first.likelihood,
  };
}

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
