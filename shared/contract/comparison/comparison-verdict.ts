/*
 * The comparison of a candidate with the version that scores calls. The browser reads this file too.
 */

/** Matured and named leads, and conversions among them and others, below which no verdict is given. */
export const requiredOfComparison = { leads: 200, conversions: 30, others: 30 } as const;

/** A verdict is judged again with this share of additional conversions. */
const additionalShare = 0.2;

export const comparisonVerdicts = ['better', 'worse', 'no_worse', 'too_early'] as const;
export type ComparisonVerdict = (typeof comparisonVerdicts)[number];

/** The conversions with which a verdict is judged again. @param judged those of the last judgement */
export const nextJudgedConversions = (judged: number): number => Math.ceil((1 + additionalShare) * judged - 1e-9);

/** A value with the bounds of its interval: 2.5 standard errors on each side, which cover it in 98.8 % of cases. */
export type Bounded = readonly [value: number, low: number, high: number];

/** A statistic by both versions over the same leads, and the candidate's minus the base's. */
export interface BoundedPair {
  readonly base: Bounded;
  readonly candidate: Bounded;
  readonly difference: Bounded;
}

/** A comparison of a candidate with the version that scores calls, over the leads that both have scored. */
export interface Comparison {
  readonly base: string;
  readonly candidate: string;
  /** All leads that both versions score. */
  readonly scored: number;
  /** Leads among them that the candidate may have been trained on. They are not judged. */
  readonly seen: number;
  /** The judged leads: matured, named by outcome data, not converted before, not seen. */
  readonly leads: number;
  readonly conversions: number;
  /** Days within which a conversion counts, by the candidate's bundle. */
  readonly horizon_days: number;
  /** Share of all leads in another score band. */
  readonly moved: number;
  /** All leads by the band of the base (rows) and of the candidate (columns), lowest scores first. */
  readonly moves: readonly (readonly number[])[];
  /** The stability index of all scores, and what chance alone exceeds in 1 % of cases. */
  readonly psi: { readonly value: number; readonly chance_99: number };
  /** The lift of each version's own top fifth of the judged leads; null with too few. */
  readonly lift: BoundedPair | null;
  /** The area under the ROC curve over the judged leads; null with too few. */
  readonly auc: BoundedPair | null;
  /** Fields of the candidate that were not recorded with the leads. */
  readonly missing_fields: readonly string[];
  readonly verdict: ComparisonVerdict;
  /** The conversions with which the verdict was judged; null with too few. */
  readonly judged_conversions: number | null;
}
