import {
  type ComparisonVerdict,
  nextJudgedConversions,
  requiredOfComparison,
} from '../../../shared/contract/comparison/comparison-verdict.js';
import type { Estimate, PairedEstimates } from './paired-estimates.js';

/**
 * Standard errors of each side of an interval and of each rule. Larger than 1.96, because nights look at the same leads
 * again and again: with 1.96 one in ten useless candidates would once be `better`.
 */
const intervalErrors = 2.5;
/** A candidate may be worse by this share of the current version's lift and still be `no_worse`. */
const tolerance = 0.1;

/** The evidence about a candidate. */
export interface Evidence {
  /** Matured leads with outcome data that the candidate was not trained on. */
  readonly leads: number;
  readonly conversions: number;
  /** Undefined below the required numbers. */
  readonly figures: { readonly lift: PairedEstimates; readonly auc: PairedEstimates } | undefined;
  /** Fields of the candidate that were not recorded with the leads. */
  readonly missingFields: readonly string[];
}

/** A verdict, and the conversions with which it was judged; null if there were too few to judge. */
export interface Judged {
  readonly verdict: ComparisonVerdict;
  readonly conversions: number | null;
}

/** Whether there are enough leads of each kind to compare versions. */
export const isEnough = ({ leads, conversions }: Pick<Evidence, 'leads' | 'conversions'>): boolean =>
  leads >= requiredOfComparison.leads &&
  conversions >= requiredOfComparison.conversions &&
  leads - conversions >= requiredOfComparison.others;

/**
 * The verdict of one look. With the lift difference d, its standard error and z = 2.5:
 * - `better`: d − z·error > 0, and the AUC is not lower by z errors;
 * - `worse`: d + z·error < 0;
 * - `no_worse`: d − z·error > −10 % of the base's lift;
 * - `too_early` otherwise, with too few leads, and with fields that were not recorded, unless `better`.
 */
export function judge({ figures, missingFields }: Evidence): ComparisonVerdict {
  if (figures === undefined) return 'too_early';
  const { lift, auc } = figures;
  const { low, high } = boundsOf(lift.difference);
  if (low > 0 && boundsOf(auc.difference).high >= 0) return 'better';
  if (missingFields.length > 0) return 'too_early';
  if (high < 0) return 'worse';
  return low > -tolerance * lift.base.value ? 'no_worse' : 'too_early';
}

/**
 * The verdict after a look. It is judged again only with 20 % more conversions than at the last judgement. So a year
 * has a dozen judgements and not one a night, each of which could favour a useless candidate.
 * @param before undefined for the first look
 */
export function judgedAfter(evidence: Evidence, before: Judged | undefined): Judged {
  if (evidence.figures === undefined) return { verdict: 'too_early', conversions: null };
  const { conversions } = evidence;
  const last = before?.conversions ?? null;
  if (before !== undefined && last !== null && conversions < nextJudgedConversions(last)) return before;
  return { verdict: judge(evidence), conversions };
}

/** The interval of an estimate. */
export const boundsOf = ({ value, error }: Estimate): { readonly low: number; readonly high: number } => ({
  low: value - intervalErrors * error,
  high: value + intervalErrors * error,
});
