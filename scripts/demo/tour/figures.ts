import type { ScoreRow } from '../../cli/calls/api-reply.js';
import type { GeneratedLead, LeadChange } from '../../leads/lead-generator.js';

export interface ScoredLead {
  readonly lead: GeneratedLead;
  readonly row: ScoreRow;
}

/** Best first: by score, then by likelihood, then in the order of the file. */
export function rankedLeads(leads: readonly GeneratedLead[], rows: readonly ScoreRow[]): ScoredLead[] {
  const scored = leads.flatMap((lead, index) => {
    const row = rows[index];
    return row === undefined ? [] : [{ lead, row }];
  });
  return scored.sort(
    ({ row: one }, { row: other }) =>
      other.score - one.score || other.conversion_likelihood - one.conversion_likelihood,
  );
}

/** A score, 0 to 100, and whether the lead converted. */
export interface Outcome {
  readonly score: number;
  readonly converted: boolean;
}

export type Ranking = ReturnType<typeof rankingQuality>;

/** Compares scores with outcomes, in five bands of 20 points, lowest first. */
export function rankingQuality(outcomes: readonly Outcome[]) {
  const bands = [0, 20, 40, 60, 80].map((low) => {
    const high = low === 80 ? 100 : low + 19;
    const members = outcomes.filter(({ score }) => score >= low && score <= high);
    const converted = members.filter((member) => member.converted).length;
    const rate = members.length === 0 ? null : converted / members.length;
    return { label: `${low}-${high}`, leads: members.length, converted, rate };
  });
  const converted = outcomes.filter((outcome) => outcome.converted).length;
  return { leads: outcomes.length, converted, bands, auc: auc(outcomes) };
}

/**
 * The area under the ROC curve (Mann-Whitney). It is the share of pairs of one converted and one other lead in which
 * the converted lead has the higher score. Ties count half. Null without such a pair.
 */
function auc(outcomes: readonly Outcome[]): number | null {
  const byScore = Array.from({ length: 101 }, () => ({ converted: 0, others: 0 }));
  for (const { score, converted } of outcomes) {
    const counts = byScore[score];
    if (counts === undefined) throw new RangeError(`${score} is not a score from 0 to 100`);
    counts[converted ? 'converted' : 'others'] += 1;
  }
  let [pairsWon, convertedBelow, othersBelow] = [0, 0, 0];
  for (const { converted, others } of byScore) {
    pairsWon += converted * (othersBelow + others / 2);
    convertedBelow += converted;
    othersBelow += others;
  }
  const pairs = convertedBelow * othersBelow;
  return pairs === 0 ? null : pairsWon / pairs;
}

export type Movement = ReturnType<typeof movementOf>;

/** Counts whose score rose, fell and stayed, and picks the 5 largest rises and the 3 largest falls. */
export function movementOf(leads: readonly GeneratedLead[], changes: readonly LeadChange[], rows: readonly ScoreRow[]) {
  const rescored = leads.flatMap((lead, index) => {
    const [change, row] = [changes[index], rows[index]];
    if (change === undefined || row?.delta === undefined) return [];
    return [{ lead, change, row, delta: row.delta }];
  });
  rescored.sort((one, other) => other.delta - one.delta);
  const up = rescored.filter(({ delta }) => delta > 0);
  const down = rescored.filter(({ delta }) => delta < 0);
  const same = rescored.length - up.length - down.length;
  return { up: up.length, down: down.length, same, biggest: [...up.slice(0, 5), ...down.slice(-3)] };
}
