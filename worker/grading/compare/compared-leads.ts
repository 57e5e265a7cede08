import { dayMs } from '../../../shared/contract/dates.js';
import { bandScores } from '../../../shared/contract/verdict.js';
import { bandOf } from '../../../shared/store/calls/prediction-segment.js';
import type { CandidateRun } from '../../../shared/store/models/candidate-runs.js';
import { type CandidateSegment, candidateScoresCollection } from '../../../shared/store/models/candidate-scores.js';
import { type FirstPrediction, figuresOfLead } from '../cohort/lead-counts.js';
import { outcomesOfLeads } from '../cohort/lead-outcomes.js';
import { batchSizes } from '../cohort/lead-segments.js';
import { type GradedVersion, readInBatches, type Snapshot } from '../cohort/snapshot.js';
import { PairedLeads } from './paired-leads.js';

/** The leads of a run with the scores of both versions. */
export interface ComparedLeads {
  /** Leads that both versions score. */
  readonly scored: number;
  /** Leads among them that the candidate may have been trained on. */
  readonly seen: number;
  /** By the band of the base, then of the candidate. */
  readonly moves: readonly (readonly number[])[];
  /** The judged leads. */
  readonly judged: PairedLeads;
  /** Leads that were not seen, by the version that recorded them. */
  readonly leadsBy: ReadonlyMap<string, number>;
}

type Segment = Pick<
  CandidateSegment,
  '_id' | 'at' | 'crm_ids' | 'scores' | 'likelihoods' | 'base_scores' | 'base_likelihoods' | 'seen' | 'recorded_by'
>;

/** A lead whose horizon is over, with the likelihoods of both versions. */
interface MaturedLead extends FirstPrediction {
  readonly base: number;
}

const projection = {
  ...{ at: 1, crm_ids: 1, scores: 1, likelihoods: 1, base_scores: 1, base_likelihoods: 1, seen: 1, recorded_by: 1 },
} as const;

/**
 * Reads the scores of a completed run with the outcomes of its leads. Each lead is in one segment, so the outcomes of a
 * batch are looked up by index. Only the likelihoods of the judged leads stay in memory. Scores outside the run's
 * window are of an earlier run with another base, and do not count.
 * @param graded.horizonDays a conversion counts within these days
 * @param asOfMs leads whose horizon is over by then are judged
 * @throws MongoDB errors
 */
export async function comparedLeads(
  snapshot: Snapshot,
  { graded, run, asOfMs }: { readonly graded: GradedVersion; readonly run: CandidateRun; readonly asOfMs: number },
): Promise<ComparedLeads> {
  const horizonMs = graded.horizonDays * dayMs;
  const moves = bandScores.map(() => bandScores.map(() => 0));
  const leadsBy = new Map<string, number>();
  const judged = new PairedLeads();
  let [scored, seen] = [0, 0];
  const { org, model, version, from_id: fromId, until_id: untilId } = run;
  const filter = { _id: { $gte: fromId, $lt: untilId }, org, model, version };
  const command = { find: candidateScoresCollection, filter, projection, hint: { _id: 1 } };
  for await (const segments of readInBatches<Segment>(snapshot, command, batchSizes)) {
    const matured = new Map<string, MaturedLead>();
    for (const segment of segments) {
      const rows = pairedRows(segment);
      scored += rows.length;
      for (const row of rows) {
        const fromBand = moves[bandOf(row.baseScore)];
        const band = bandOf(row.score);
        if (fromBand !== undefined) fromBand[band] = (fromBand[band] ?? 0) + 1;
      }
      if (segment.seen === true) {
        seen += rows.length;
        continue;
      }
      leadsBy.set(segment.recorded_by, (leadsBy.get(segment.recorded_by) ?? 0) + rows.length);
      if (segment.at.getTime() > asOfMs - horizonMs) continue;
      for (const { crmId, score, likelihood, base } of rows)
        matured.set(crmId, { at: segment.at, band: bandOf(score), likelihood, base });
    }
    for await (const outcomes of outcomesOfLeads(snapshot, graded, matured.keys()))
      for (const outcome of outcomes) {
        const lead = matured.get(outcome.crm_id);
        if (lead === undefined) continue;
        const { joined, conversions } = figuresOfLead(lead, outcome, horizonMs);
        if (joined > 0) judged.add(lead.base, lead.likelihood, conversions > 0);
      }
  }
  return { scored, seen, moves, judged, leadsBy };
}

/** The rows that the base scores, too. */
function pairedRows({ crm_ids: crmIds, scores, likelihoods, ...of }: Segment) {
  return crmIds.flatMap((crmId, row) => {
    const [baseScore, base] = [of.base_scores[row] ?? null, of.base_likelihoods[row] ?? null];
    if (baseScore === null || base === null) return [];
    return [{ crmId, baseScore, base, score: scores[row] ?? 0, likelihood: likelihoods[row] ?? 0 }];
  });
}
