import { requiredPredictions } from '../../shared/verdict.js';
import type { CohortFigures } from './cohort-figures.js';
import { cleared, counted, failed, type GateOutcome, tooEarly } from './gate-outcome.js';

/* The first three gates: is there enough to go by, and can it be trusted? */

/** Of the cohort, the share that outcome data must name. */
const requiredJoined = 0.95;

/** `predictions_recorded`: at least 200 cohort records. */
export function predictionsRecorded({ cohort, requests, leftOut }: CohortFigures): GateOutcome {
  const figures = { cohort, required: requiredPredictions, stored_rows: requests.storedRows };
  if (requests.storedRows === 0 && requests.countedForADay)
    return failed(
      figures,
      'the ledger has counted calls for more than 24 hours, but no prediction is stored',
    );
  if (cohort >= requiredPredictions) return cleared(figures);
  return tooEarly(
    figures,
    `${counted(cohort)} of ${requiredPredictions} required predictions have been recorded${besideThem(leftOut)}`,
  );
}

/** Predictions that were recorded and cannot be graded, so that nobody looks for them in vain: repeats are no surprise. */
function besideThem({ withoutCrmId, excluded }: CohortFigures['leftOut']): string {
  const others = [
    ...(withoutCrmId > 0 ? [`${counted(withoutCrmId)} without a crm_id`] : []),
    ...(excluded > 0 ? [`${counted(excluded)} of leads that had converted before`] : []),
  ];
  return others.length === 0 ? '' : `, not counting ${others.join(' and ')}`;
}

/** `cohort_reconciles`: the ledger's count, the stored rows and the cohort agree, and outcome data names the cohort. */
export function cohortReconciles(cohortFigures: CohortFigures): GateOutcome {
  const { requests, leftOut, cohort, joined, joinable } = cohortFigures;
  const { repeats, withoutCrmId, excluded, erased } = leftOut;
  const unaccounted = requests.storedRows - (cohort + repeats + withoutCrmId + excluded + erased);
  const share = joinable === 0 ? 0 : joined / joinable;
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
  };
  if (requests.mismatchedRequests > 0 || requests.ledgerRecords !== requests.storedRows) {
    const those = requests.mismatchedRequests === 1 ? 'request' : 'requests';
    return failed(
      figures,
      `the stored rows of ${counted(requests.mismatchedRequests)} ${those} differ from what the ledger counted`,
    );
  }
  if (unaccounted !== 0 || repeats < 0)
    return failed(figures, `${counted(Math.abs(unaccounted || repeats))} stored rows are not accounted for`);
  if (joined === 0)
    return tooEarly(figures, `no outcome data covers the cohort of ${counted(cohort)} predictions yet`);
  if (share >= requiredJoined) return cleared(figures);
  return failed(
    figures,
    `outcome data names ${counted(joined)} of ${counted(joinable)} cohort records, and 95 % of them are required`,
  );
}

/** `matured_cohort`: at least 200 records have completed the horizon and are named by outcome data. */
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
    `${counted(both)} of ${requiredPredictions} required predictions have completed the ${horizonDays}-day window${named}`,
  );
}
