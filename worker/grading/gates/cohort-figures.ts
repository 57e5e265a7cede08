import type { LatestOutcomes } from '../cohort/latest-outcomes.js';

/** Matured records with outcome data in one score band. */
export interface BandFigures {
  readonly records: number;
  readonly conversions: number;
  /** Sum of the returned likelihoods: the conversions that a calibrated model expects. */
  readonly expected: number;
}

/** Agreement of stored rows and counted calls within the window. */
interface RequestFigures {
  /** Records of live calls in the ledger. */
  readonly ledgerRecords: number;
  /** Stored predictions. */
  readonly storedRows: number;
  /** Calls whose number of stored rows differs from the ledger. */
  readonly mismatchedRequests: number;
  /** Whether the first counted call is older than 24 hours; always false if predictions are stored. */
  readonly countedForADay: boolean;
}

/** Stored rows outside the cohort. Together with the cohort they are all stored rows. */
interface LeftOutFigures {
  /** Later predictions of leads that were scored before. */
  readonly repeats: number;
  readonly withoutCrmId: number;
  /** First predictions of leads that had already converted. */
  readonly excluded: number;
  readonly erased: number;
}

/** All input of a grade. */
export interface CohortFigures {
  readonly requests: RequestFigures;
  readonly leftOut: LeftOutFigures;
  /** First live predictions of leads that had not converted before. */
  readonly cohort: number;
  /** Cohort records with outcome data. */
  readonly joined: number;
  /** Cohort records that outcome data could name: scored until the day of the newest outcome. */
  readonly joinable: number;
  /** Cohort records whose horizon has ended. */
  readonly matured: number;
  /** Number of the day on which enough of the cohort will have matured; undefined if it has, or is too small. */
  readonly verdictDay?: number | undefined;
  /** Read only if outcome data names too few of the cohort. */
  readonly latestOutcomes?: LatestOutcomes | undefined;
  /** Score bands with a cohort record. */
  readonly scoredBands: number;
  /** Matured and joined records in five bands, lowest scores first. */
  readonly bands: readonly BandFigures[];
  readonly horizonDays: number;
  /** L₀: the lift of the top band on the bundle's holdout. */
  readonly expectedLift: number;
}
