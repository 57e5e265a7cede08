import type { Bounded, BoundedPair, Comparison } from '../../../shared/contract/comparison/comparison-verdict.js';
import { stabilityByChance, stabilityIndex } from '../../../shared/contract/comparison/stability-index.js';
import { sixDigits } from '../../../shared/contract/figures.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { type CandidateRun, CandidateRunStore } from '../../../shared/store/models/candidate-runs.js';
import { inSnapshot } from '../cohort/snapshot.js';
import { type ComparedLeads, comparedLeads } from './compared-leads.js';
import { boundsOf, judgedAfter } from './judge.js';
import { missingFields } from './missing-fields.js';
import type { Estimate, PairedEstimates } from './paired-estimates.js';
import { pairedFigures } from './paired-figures.js';

export interface CompareOptions {
  readonly database: Db;
  /** The completed run of the candidate. */
  readonly run: CandidateRun;
  readonly horizonDays: number;
  readonly nowMs: number;
}

/**
 * Compares a candidate with the version that scores calls, and stores the result in its run.
 * 1. Reads the scores of both with the outcomes, in one snapshot of the database.
 * 2. Computes moves between bands, stability, and lift and AUC of the judged leads.
 * 3. Judges, and weighs the verdict against the one before.
 * @returns undefined if the run has begun again or another process was first
 * @throws MongoDB errors
 */
export async function compareCandidate(options: CompareOptions): Promise<Comparison | undefined> {
  const { database, run, horizonDays, nowMs } = options;
  const { org: organisationId, model: modelId, version } = run;
  const graded = { organisationId, modelId, version, horizonDays };
  const found = await inSnapshot(database, (session) =>
    comparedLeads({ database, session }, { graded, run, asOfMs: nowMs }),
  );
  const missing = await missingFields(database, { modelId, version, leadsBy: found.leadsBy });
  const comparison = comparisonOf(found, { run, horizonDays, missing });
  const stored = await new CandidateRunStore(database).compare(run, { ...comparison, compared_at: new Date(nowMs) });
  return stored ? comparison : undefined;
}

function comparisonOf(
  { scored, seen, moves, judged }: ComparedLeads,
  of: { readonly run: CandidateRun; readonly horizonDays: number; readonly missing: readonly string[] },
): Comparison {
  const { base, version: candidate, comparison: before } = of.run;
  const evidence = { ...pairedFigures(judged.columns()), missingFields: of.missing };
  const former = before && { verdict: before.verdict, conversions: before.judged_conversions };
  const { verdict, conversions: judgedConversions } = judgedAfter(evidence, former);
  const { leads, conversions, figures } = evidence;
  const stayed = moves.reduce((sum, row, band) => sum + (row[band] ?? 0), 0);
  return {
    ...{ base, candidate, scored, seen, leads, conversions, horizon_days: of.horizonDays },
    moved: scored === 0 ? 0 : sixDigits((scored - stayed) / scored),
    moves,
    psi: stabilityOf(moves, scored),
    lift: figures === undefined ? null : boundedPair(figures.lift),
    auc: figures === undefined ? null : boundedPair(figures.auc),
    ...{ missing_fields: of.missing, verdict, judged_conversions: judgedConversions },
  };
}

function stabilityOf(moves: ComparedLeads['moves'], scored: number): Comparison['psi'] {
  if (scored === 0) return { value: 0, chance_99: 0 };
  const base = moves.map((row) => row.reduce((sum, count) => sum + count, 0));
  const candidate = moves.map((_, band) => moves.reduce((sum, row) => sum + (row[band] ?? 0), 0));
  return {
    value: sixDigits(stabilityIndex(base, candidate)),
    chance_99: sixDigits(stabilityByChance(scored, scored)),
  };
}

const boundedPair = ({ base, candidate, difference }: PairedEstimates): BoundedPair => ({
  base: bounded(base),
  candidate: bounded(candidate),
  difference: bounded(difference),
});

function bounded(estimate: Estimate): Bounded {
  const { low, high } = boundsOf(estimate);
  return [sixDigits(estimate.value), sixDigits(low), sixDigits(high)];
}
