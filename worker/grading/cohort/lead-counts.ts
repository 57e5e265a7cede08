import { dayMs, dayNumber } from '../../../shared/contract/dates.js';
import { bandScores } from '../../../shared/contract/verdict.js';
import type { DayBand } from '../../../shared/store/validation/validation-daily.js';

/** A running sum of band figures. */
export type BandSum = { -readonly [Figure in keyof DayBand]: DayBand[Figure] };

/** A sum of nothing. */
export const emptyBandSum = (): BandSum => ({
  cohort: 0,
  excluded: 0,
  joined: 0,
  conversions: 0,
  likelihood: 0,
});

/**
 * Adds figures to a sum.
 * @param sign -1 subtracts
 */
export function addFigures(sum: BandSum, figures: DayBand, sign: 1 | -1 = 1): void {
  sum.cohort += sign * figures.cohort;
  sum.excluded += sign * figures.excluded;
  sum.joined += sign * figures.joined;
  sum.conversions += sign * figures.conversions;
  sum.likelihood += sign * figures.likelihood;
}

/** A lead's first prediction under a version. */
export interface FirstPrediction {
  readonly at: Date;
  /** Score band, 0 to 4. */
  readonly band: number;
  /** In ten-thousandths. */
  readonly likelihood: number;
}

/** The known outcome of a lead. */
export interface OutcomeState {
  readonly converted: boolean;
  readonly at: Date;
}

/**
 * The figures that one lead adds to its day and band.
 * @param outcome undefined if none is known
 */
export function figuresOfLead(first: FirstPrediction, outcome: OutcomeState | undefined, horizonMs: number): DayBand {
  const delayMs = outcome?.converted === true ? outcome.at.getTime() - first.at.getTime() : undefined;
  if (delayMs !== undefined && delayMs <= 0) return { ...emptyBandSum(), excluded: 1 };
  const joined = outcome === undefined ? 0 : 1;
  return {
    cohort: 1,
    excluded: 0,
    joined,
    conversions: delayMs !== undefined && delayMs <= horizonMs ? 1 : 0,
    likelihood: joined * first.likelihood,
  };
}

/** Leads of one day and band of their first prediction. */
export interface LeadGroup extends DayBand {
  readonly day: number;
  readonly band: number;
  /** Whether their horizon has ended; only the day of the cut has groups of both kinds. */
  readonly matured: boolean;
  /** Arrival of the newest outcome in the cohort, Unix ms; 0 without any. */
  readonly newestOutcomeMs: number;
}

type GrowingGroup = { -readonly [Field in keyof LeadGroup]: LeadGroup[Field] };

/** Counts leads by day, band and maturity. */
export class LeadCounts {
  private readonly groups = new Map<number, GrowingGroup>();
  private readonly horizonMs: number;

  /** @param options `cut`: predictions up to this instant have matured; `days`: the days to count */
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
   * Counts a lead on the day of its first prediction.
   * @param outcome undefined if none is known
   */
  add(first: FirstPrediction, outcome: (OutcomeState & { readonly received_at: Date }) | undefined): void {
    const day = dayNumber(first.at.getTime());
    if (!this.options.days.has(day)) return;
    const group = this.groupOf(day, first);
    const figures = figuresOfLead(first, outcome, this.horizonMs);
    addFigures(group, figures);
    if (outcome !== undefined)
      group.newestOutcomeMs = Math.max(group.newestOutcomeMs, figures.cohort * outcome.received_at.getTime());
  }

  /** The groups so far, in no particular order. */
  found(): LeadGroup[] {
    return [...this.groups.values()];
  }

  private groupOf(day: number, { at, band }: FirstPrediction): GrowingGroup {
    const matured = at <= this.options.cut;
    const key = 2 * (bandScores.length * day + band) + Number(matured);
    let group = this.groups.get(key);
    if (group === undefined) {
      group = { day, band, matured, ...emptyBandSum(), newestOutcomeMs: 0 };
      this.groups.set(key, group);
    }
    return group;
  }
}
