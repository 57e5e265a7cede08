import { countText, figureText, liftText, shareText } from '../../../shared/contract/figures.js';
import { bandScores, requiredLift, requiredPredictions } from '../../../shared/contract/verdict.js';
import type { LatestOutcomes } from '../cohort/latest-outcomes.js';
import { type BandCount, cochranArmitage } from '../statistics/cochran-armitage.js';
import { poissonLowerTail } from '../statistics/distributions.js';
import { requiredConversions, topBandLift } from '../statistics/lift.js';
import type { CohortFigures } from './cohort-figures.js';
import { type MergedBand, sumOf } from './merged-bands.js';

/** The result of testing one gate. */
export type GateOutcome =
  | { readonly state: 'cleared'; readonly figures: Figures }
  | {
      readonly state: 'too_early' | 'failed';
      readonly figures: Figures;
      /** Clause of the summary after the gate's name: lower case, no full stop. */
      readonly clause: string;
    };

type Figures = Readonly<Record<string, number>>;

const cleared = (figures: Figures): GateOutcome => ({ state: 'cleared', figures });
const tooEarly = (figures: Figures, clause: string): GateOutcome => ({
  state: 'too_early',
  figures,
  clause,
});
const failed = (figures: Figures, clause: string): GateOutcome => ({
  state: 'failed',
  figures,
  clause,
});

/* The first three gates test whether the data suffices and is consistent. */

/** Share of the cohort that outcome data must name. */
export const requiredJoined = 0.95;

/** `predictions_recorded`: at least 200 cohort records. */
export function predictionsRecorded({ cohort, requests, leftOut }: CohortFigures): GateOutcome {
  const figures = { cohort, required: requiredPredictions, stored_rows: requests.storedRows };
  if (requests.storedRows === 0 && requests.countedForADay)
    return failed(figures, 'the ledger has counted calls for more than 24 hours, but no prediction is stored');
  if (cohort >= requiredPredictions) return cleared(figures);
  return tooEarly(
    figures,
    `${countText(cohort)} of ${requiredPredictions} required predictions have been recorded${uncountedClause(leftOut)}`,
  );
}

/** Names the recorded predictions that do not count. Repeats are expected and not mentioned. */
function uncountedClause({ withoutCrmId, excluded }: CohortFigures['leftOut']): string {
  const others = [
    ...(withoutCrmId > 0 ? [`${countText(withoutCrmId)} without a crm_id`] : []),
    ...(excluded > 0 ? [`${countText(excluded)} of leads that had converted before`] : []),
  ];
  return others.length === 0 ? '' : `, not counting ${others.join(' and ')}`;
}

/** `cohort_reconciles`: ledger, stored rows and cohort agree, and outcome data names 95 % of the cohort. */
export function cohortReconciles(cohortFigures: CohortFigures): GateOutcome {
  const { requests, leftOut, cohort, joined, joinable, latestOutcomes } = cohortFigures;
  const { repeats, withoutCrmId, excluded, erased } = leftOut;
  const unaccounted = requests.storedRows - (cohort + repeats + withoutCrmId + excluded + erased);
  const share = joinedShare(cohortFigures);
  const figures = {
    ledger_records: requests.ledgerRecords,
    stored_rows: requests.storedRows,
    mismatched_requests: requests.mismatchedRequests,
    cohort,
    repeats,
    without_crm_id: withoutCrmId,
    excluded,
    erased,
    joined,
    joinable,
    joined_share: share,
    required_share: requiredJoined,
    ...(latestOutcomes === undefined
      ? {}
      : { latest_outcomes: latestOutcomes.outcomes, latest_outcomes_unscored: latestOutcomes.unscored }),
  };
  if (requests.mismatchedRequests > 0 || requests.ledgerRecords !== requests.storedRows) {
    const noun = requests.mismatchedRequests === 1 ? 'request' : 'requests';
    return failed(
      figures,
      `the stored rows of ${countText(requests.mismatchedRequests)} ${noun} differ from what the ledger counted`,
    );
  }
  if (unaccounted !== 0 || repeats < 0)
    return failed(figures, `${countText(Math.abs(unaccounted || repeats))} stored rows are not accounted for`);
  if (share >= requiredJoined) return cleared(figures);
  const strangers = strangersClause(latestOutcomes);
  if (joined === 0) {
    const unnamed = `no outcome data covers the cohort of ${countText(cohort)} predictions`;
    return tooEarly(figures, `${unnamed}${strangers === '' ? ' yet' : strangers}`);
  }
  return failed(
    figures,
    `outcome data names ${countText(joined)} of ${countText(joinable)} cohort records, and ${shareText(requiredJoined)} of them are required${strangers}`,
  );
}

/** Whether outcome data names too few of the cohort. */
export const namesTooFew = (figures: CohortFigures): boolean =>
  figures.cohort >= requiredPredictions && joinedShare(figures) < requiredJoined;

const joinedShare = ({ joined, joinable }: CohortFigures): number => (joinable === 0 ? 0 : joined / joinable);

/** Whether most of the latest outcomes are of leads that were never scored. */
export const isMostlyUnscored = (latest: CohortFigures['latestOutcomes']): latest is LatestOutcomes =>
  latest !== undefined && 2 * latest.unscored > latest.outcomes;

/** Says that most of the latest outcomes are of leads that were never scored; empty if they are not. */
function strangersClause(latest: CohortFigures['latestOutcomes']): string {
  if (!isMostlyUnscored(latest)) return '';
  const { outcomes, unscored, forms } = latest;
  const example =
    forms === undefined
      ? ''
      : `: a crm_id of theirs has the form ${JSON.stringify(forms.ofOutcome)}, one of a scored lead ` +
        JSON.stringify(forms.ofScore);
  return `; ${countText(unscored)} of the latest ${countText(outcomes)} outcomes name no scored lead${example}`;
}

/** `matured_cohort`: at least 200 records have completed the horizon and have outcome data. */
export function maturedCohort({ matured, bands, horizonDays }: CohortFigures): GateOutcome {
  const both = bands.reduce((sum, band) => sum + band.records, 0);
  const figures = {
    matured,
    matured_and_joined: both,
    required: requiredPredictions,
    horizon_days: horizonDays,
  };
  if (both >= requiredPredictions) return cleared(figures);
  const named = both < matured ? ' and are named by outcome data' : '';
  return tooEarly(
    figures,
    `${countText(both)} of ${requiredPredictions} required predictions ` +
      `have completed the ${horizonDays}-day window${named}`,
  );
}

/* The last three gates test whether leads with higher scores convert more often. */

/** Bands after neighbours were merged until each is large enough. */
export type MergedBands = readonly MergedBand[];

const requiredNonConversions = 30;
const minBands = 3;
/** Expected conversions from which far too few observed ones fail the model. */
const minExpected = 30;
const poissonThreshold = 0.001;
const trendThreshold = 0.05;

/**
 * The clause on a model that cannot get a verdict, because its scores fall into too few bands. More outcomes would not
 * change that.
 * @param scoredBands bands with a record of the cohort
 */
export const tooFewScores = (records: number, scoredBands: number): string | undefined =>
  scoredBands >= minBands
    ? undefined
    : `the ${countText(records)} scores fall into ${scoredBands} of the ${bandScores.length} score bands, and a verdict ` +
      `needs ${minBands}, so the model must give more different scores`;

/** `outcomes_observed`: enough conversions and non-conversions, spread over enough bands. */
export function outcomesObserved(cohortFigures: CohortFigures, merged: MergedBands): GateOutcome {
  const { bands, cohort, expectedLift, scoredBands } = cohortFigures;
  const records = sumOf(bands, 'records');
  const conversions = sumOf(bands, 'conversions');
  const expected = bands.reduce((sum, band) => sum + band.expected, 0);
  const topShare = records === 0 ? 0 : (bands.at(-1)?.records ?? 0) / records;
  const required = requiredConversions(topShare, expectedLift);
  const comparable = merged.length;
  const unlikely = expected > 0 ? poissonLowerTail(conversions, expected) : 1;
  const figures = {
    conversions,
    required_conversions: required,
    non_conversions: records - conversions,
    required_non_conversions: requiredNonConversions,
    expected_conversions: expected,
    poisson_p: unlikely,
    comparable_bands: comparable,
    required_bands: minBands,
  };
  const enough = conversions >= required && records - conversions >= requiredNonConversions;
  if (enough && comparable >= minBands) return cleared(figures);
  if (expected >= minExpected && unlikely < poissonThreshold)
    return failed(
      figures,
      `${countText(conversions)} conversions were observed ` +
        `where the model's likelihoods add up to ${figureText(expected)}`,
    );
  const unreachable = tooFewScores(cohort, scoredBands);
  if (unreachable !== undefined) return tooEarly(figures, unreachable);
  if (conversions < required)
    return tooEarly(figures, `${countText(conversions)} of ${required} required conversions have been observed`);
  if (!enough)
    return tooEarly(
      figures,
      `${countText(records - conversions)} of ${requiredNonConversions} required non-conversions have been observed`,
    );
  return tooEarly(
    figures,
    `${countText(conversions)} conversions do not fill ${minBands} score bands of comparable size yet`,
  );
}

/** `rate_rises_with_band`: the rate rises along the bands, and no fall exceeds chance. */
export function rateRisesWithBand({ bands }: CohortFigures, merged: MergedBands): GateOutcome {
  const trend = cochranArmitage(merged);
  const drop = worstDrop(merged);
  const dropThreshold = trendThreshold / Math.max(1, merged.length - 1);
  const figures = {
    z: trend.z,
    p: trend.risingP,
    required_p: trendThreshold,
    bands: merged.length,
    worst_drop_p: drop?.p ?? 1,
    drop_threshold: dropThreshold,
  };
  const across = `across ${countText(sumOf(bands, 'records'))} matured predictions`;
  if (!(trend.risingP < trendThreshold)) return failed(figures, `conversion does not rise with score band ${across}`);
  if (drop !== undefined && drop.p < dropThreshold)
    return failed(figures, `conversion drops from scores ${drop.from} to ${drop.to} ${across}`);
  return cleared(figures);
}

/** `top_band_lift`: the lift of the top band is at least 1.2, and its lower bound exceeds 1. */
export function topBandLiftGate(_figures: CohortFigures, merged: MergedBands): GateOutcome {
  const { top, rest } = topAndRest(merged);
  const { lift, lowerBound } = topBandLift(top, rest);
  const figures = {
    lift,
    lower_bound: lowerBound,
    required_lift: requiredLift,
    top_records: top.records,
    top_conversions: top.conversions,
    rest_records: rest.records,
    rest_conversions: rest.conversions,
  };
  const across = `across ${countText(top.records + rest.records)} matured predictions`;
  if (!(lift >= requiredLift))
    return failed(figures, `top-band lift is ${liftText(lift)} ${across}, and ${liftText(requiredLift)} is required`);
  if (!(lowerBound > 1))
    return failed(
      figures,
      `top-band lift ${liftText(lift)} ${across} is not certain: its lower bound is ${liftText(lowerBound)}`,
    );
  return cleared(figures);
}

/** The top band, and all other bands together. */
function topAndRest(merged: readonly BandCount[]): {
  readonly top: BandCount;
  readonly rest: BandCount;
} {
  const others = merged.slice(0, -1);
  return {
    top: merged.at(-1) ?? { records: 0, conversions: 0 },
    rest: { records: sumOf(others, 'records'), conversions: sumOf(others, 'conversions') },
  };
}

interface Drop {
  readonly p: number;
  readonly from: string;
  readonly to: string;
}

/** The fall between neighbouring bands with the smallest p, each tested as a downward trend of two bands. */
function worstDrop(merged: MergedBands): Drop | undefined {
  let worst: Drop | undefined;
  for (const [index, band] of merged.entries()) {
    const above = merged[index + 1];
    if (above === undefined) break;
    const { fallingP } = cochranArmitage([band, above]);
    if (worst === undefined || fallingP < worst.p) worst = { p: fallingP, from: scoresOf(band), to: scoresOf(above) };
  }
  return worst;
}

/** The score range of a merged band, such as `20-59`. */
function scoresOf({ first, last }: MergedBand): string {
  const low = bandScores[first]?.split('-')[0] ?? '';
  const high = bandScores[last]?.split('-')[1] ?? '';
  return `${low}-${high}`;
}
