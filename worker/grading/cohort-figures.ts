/** Matured records of one score band that outcome data names. */
export interface BandFigures {
  readonly records: number;
  readonly conversions: number;
  /** Sum of the likelihoods that were answered: conversions that the model expects, if it is calibrated. */
  readonly expected: number;
}

/** How the rows that are stored agree with the calls that were counted, over the window. */
export interface RequestFigures {
  /** Records of live calls by the ledger. */
  readonly ledgerRecords: number;
  /** Predictions that are stored. */
  readonly storedRows: number;
  /** Calls whose stored rows are not as many as the ledger counted. */
  readonly mismatchedRequests: number;
  /** Whether the first counted call is more than 24 hours old; false where predictions are stored, and it does not matter. */
  readonly countedForADay: boolean;
}

/** Where the stored rows went; with the cohort they add up to all of them. */
export interface LeftOutFigures {
  /** Further predictions of leads that were scored before. */
  readonly repeats: number;
  readonly withoutCrmId: number;
  /** First predictions of leads that had converted already. */
  readonly excluded: number;
  readonly erased: number;
}

/** All that a grade goes by. */
export interface CohortFigures {
  readonly requests: RequestFigures;
  readonly leftOut: LeftOutFigures;
  /** First live predictions of leads that had not converted yet. */
  readonly cohort: number;
  /** Those of them that outcome data names. */
  readonly joined: number;
  /** Those that outcome data could name: scored no later than on the day of the newest word. */
  readonly joinable: number;
  /** Those whose horizon is over. */
  readonly matured: number;
  /** Matured and joined, by band: five, lowest scores first. */
  readonly bands: readonly BandFigures[];
  readonly horizonDays: number;
  /** L₀: the lift of the top band on the bundle's holdout. */
  readonly expectedLift: number;
}
