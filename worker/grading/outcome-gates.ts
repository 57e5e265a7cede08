import { bandScores } from '../../shared/verdict.js';
import { topBandLift } from './band-lift.js';
import { type BandCount, cochranArmitage } from './cochran-armitage.js';
import type { CohortFigures } from './cohort-figures.js';
import { cleared, counted, failed, type GateOutcome, timesText, tooEarly } from './gate-outcome.js';
import { type MergedBand, sumOf } from './merged-bands.js';
import { poissonLowerTail } from './poisson-tail.js';
import { requiredConversions } from './required-conversions.js';

/* The last three gates: do the leads that the model rates higher convert more often? */

/** The bands as they are judged: neighbours merged until each is rich enough. */
export type MergedBands = readonly MergedBand[];

const requiredNonConversions = 30;
const fewestBands = 3;
/** From this many expected conversions on, far too few observed ones condemn the model. */
const fewestExpected = 30;
const poissonThreshold = 0.001;
const trendThreshold = 0.05;
const requiredLift = 1.2;

/** `outcomes_observed`: enough conversions and non-conversions, spread over enough bands, to judge by. */
export function outcomesObserved({ bands, expectedLift }: CohortFigures, merged: MergedBands): GateOutcome {
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
    required_bands: fewestBands,
  };
  const enough = conversions >= required && records - conversions >= requiredNonConversions;
  if (enough && comparable >= fewestBands) return cleared(figures);
  if (expected >= fewestExpected && unlikely < poissonThreshold)
    return failed(
      figures,
      `${counted(conversions)} conversions were observed where the model's likelihoods add up to ${counted(Math.round(expected))}`,
    );
  if (conversions < required)
    return tooEarly(
      figures,
      `${counted(conversions)} of ${required} required conversions have been observed`,
    );
  if (!enough)
    return tooEarly(
      figures,
      `${counted(records - conversions)} of ${requiredNonConversions} required non-conversions have been observed`,
    );
  return tooEarly(
    figures,
    `${counted(conversions)} conversions do not fill ${fewestBands} score bands of comparable size yet`,
  );
}

/** `rate_rises_with_band`: the rate rises along the bands, and falls nowhere by more than chance. */
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
  const across = `across ${counted(sumOf(bands, 'records'))} matured predictions`;
  if (!(trend.risingP < trendThreshold))
    return failed(figures, `conversion does not rise with score band ${across}`);
  if (drop !== undefined && drop.p < dropThreshold)
    return failed(figures, `conversion drops from scores ${drop.from} to ${drop.to} ${across}`);
  return cleared(figures);
}

/** `top_band_lift`: the top band converts at least 1.2 times as often as the cohort, and certainly more often. */
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
  const across = `across ${counted(top.records + rest.records)} matured predictions`;
  if (!(lift >= requiredLift))
    return failed(figures, `top-band lift is ${timesText(lift)} ${across}, and ${requiredLift}x is required`);
  if (!(lowerBound > 1))
    return failed(
      figures,
      `top-band lift ${timesText(lift)} ${across} is not certain: its lower bound is ${timesText(lowerBound)}`,
    );
  return cleared(figures);
}

/** The top band and all others together. */
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

/** The fall between neighbouring bands that is least likely to be chance: a trend of two bands, downwards. */
function worstDrop(merged: MergedBands): Drop | undefined {
  let worst: Drop | undefined;
  for (const [index, band] of merged.entries()) {
    const above = merged[index + 1];
    if (above === undefined) break;
    const { fallingP } = cochranArmitage([band, above]);
    if (worst === undefined || fallingP < worst.p)
      worst = { p: fallingP, from: scoresOf(band), to: scoresOf(above) };
  }
  return worst;
}

/** The scores of a merged band, such as `20-59`. */
function scoresOf({ first, last }: MergedBand): string {
  const low = bandScores[first]?.split('-')[0] ?? '';
  const high = bandScores[last]?.split('-')[1] ?? '';
  return `${low}-${high}`;
}
