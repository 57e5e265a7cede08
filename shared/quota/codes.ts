/** Reply codes of the quota's Lua scripts. Each script's head lists its codes and their meaning. */
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

/** Reply of a quota script: `code` is one of `quotaCode`; `used` and `leased` are records, after the script. */
export interface QuotaReply {
  readonly code: number;
  readonly used: number;
  readonly leased: number;
}

/** Base class of all errors of the quota. */
export class QuotaError extends Error {
  override readonly name: string = 'QuotaError';
}

/** The call would cross the hard stop. No records are held. `used` and `leased` are records. */
export class QuotaWouldCrossStop extends QuotaError {
  override readonly name = 'QuotaWouldCrossStop';
  readonly used: number;
  readonly leased: number;

  constructor({ used, leased }: { readonly used: number; readonly leased: number }) {
    super(`the call would cross the hard stop: ${used} records are used and ${leased} are held`);
    this.used = used;
    this.leased = leased;
  }
}

/** The call's deadline passed before its records were held. */
export class QuotaTooLate extends QuotaError {
  override readonly name = 'QuotaTooLate';
}

/** The call was settled or released already. Its id cannot hold records again. */
export class QuotaCallEnded extends QuotaError {
  override readonly name = 'QuotaCallEnded';
}

/** The call has lost its lease and is not counted. Its row must be voided. */
export class QuotaLeaseLost extends QuotaError {
  override readonly name = 'QuotaLeaseLost';
}

/** Redis or the ledger failed. The outcome is unknown. */
export class QuotaUnavailable extends QuotaError {
  override readonly name = 'QuotaUnavailable';
}

/** Maps a script's refusal to an error. */
export function quotaError({ code, used, leased }: QuotaReply): QuotaError {
  switch (code) {
    case quotaCode.wouldCrossStop:
      return new QuotaWouldCrossStop({ used, leased });
    case quotaCode.tooLate:
      return new QuotaTooLate("the call's deadline passed before its records were held");
    case quotaCode.callEnded:
      return new QuotaCallEnded('the call has already been settled or released');
    case quotaCode.alreadyReleased:
      return new QuotaLeaseLost("the call's lease expired and was released");
    case quotaCode.noSuchLease:
      return new QuotaLeaseLost("Redis has lost the call's lease");
    case quotaCode.unknownCounter:
      return new QuotaUnavailable('the usage counter is lost and could not be restored');
    default:
      return new QuotaUnavailable(`the quota script returned code ${code}`);
  }
}
