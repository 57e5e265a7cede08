/** What the quota's Lua commands answer. A command's own head says which of these it can give, and what each means there. */
export const quotaCode = {
  done: 1,
  alreadyDone: 2,
  wouldCrossStop: -1,
  unknownCounter: -2,
  tooLate: -3,
  callEnded: -4,
  alreadyReleased: -5,
  noSuchLease: -6,
  alreadySettled: -7,
  lockLost: -8,
  beginAgain: -9,
  earlierRun: -10,
} as const;

/** The reply of a quota command: `code` is one of `quotaCode`; `used` and `leased` are records, after the command. */
export interface QuotaReply {
  readonly code: number;
  readonly used: number;
  readonly leased: number;
}
