/** A lead's score, and whether it truly converted. */
export interface Outcome {
  readonly score: number;
  readonly converted: boolean;
}

/** The leads whose scores fall into one band. */
export interface BandOutcome {
  /** `80-100` */
  readonly label: string;
  readonly leads: number;
  readonly converted: number;
  /** Share of its leads that converted, 0 to 1; null when it has none. */
  readonly rate: number | null;
}

/** How well scores rank leads by what they turned out to do. */
export interface RankingQuality {
  readonly leads: number;
  readonly converted: number;
  /** Five bands of 20 points, lowest first. */
  readonly bands: readonly BandOutcome[];
  /** Area under the ROC curve; null when all leads turned out alike. */
  readonly auc: number | null;
}

const bandWidth = 20;
const bandCount = 5;

/** Compares scores (0 to 100) with outcomes. */
export function rankingQuality(outcomes: readonly Outcome[]): RankingQuality {
  const bands = Array.from({ length: bandCount }, (_, band) => {
    const low = band * bandWidth;
    const members = outcomes.filter(({ score }) => bandOf(score) === band);
    const converted = convertedCount(members);
    return {
      label: `${low}-${band === bandCount - 1 ? 100 : low + bandWidth - 1}`,
      leads: members.length,
      converted,
      rate: members.length === 0 ? null : converted / members.length,
    };
  });
  return { leads: outcomes.length, converted: convertedCount(outcomes), bands, auc: auc(outcomes) };
}

const bandOf = (score: number): number => Math.min(bandCount - 1, Math.floor(score / bandWidth));

const convertedCount = (outcomes: readonly Outcome[]): number =>
  outcomes.reduce((sum, { converted }) => sum + (converted ? 1 : 0), 0);

/**
 * The share of pairs of a lead that converted and one that did not in which the former has the higher score, ties
 * counted half: the Mann-Whitney statistic over the number of pairs.
 */
function auc(outcomes: readonly Outcome[]): number | null {
  const withScore = Array.from({ length: 101 }, () => ({ converted: 0, others: 0 }));
  for (const { score, converted } of outcomes) {
    const counts = withScore[score];
    if (counts === undefined) throw new RangeError(`${score} is not a score from 0 to 100`);
    if (converted) counts.converted += 1;
    else counts.others += 1;
  }
  let othersBelow = 0;
  let pairsWon = 0;
  for (const { converted, others } of withScore) {
    pairsWon += converted * (othersBelow + others / 2);
    othersBelow += others;
  }
  const pairs = convertedCount(outcomes) * othersBelow;
  return pairs === 0 ? null : pairsWon / pairs;
}
