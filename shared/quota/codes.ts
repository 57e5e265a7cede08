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

/** Anything that the quota refuses or cannot do. */
export class QuotaError extends Error {
  override readonly name: string = 'QuotaError';
}

/** The call would take usage past the hard stop. Nothing is held. `used` and `leased` are records. */
export class QuotaWouldCrossStop extends QuotaError {
  override readonly name = 'QuotaWouldCrossStop';
  readonly used: number;
  readonly leased: number;

  constructor({ used, leased }: { readonly used: number; readonly leased: number }) {
    super(`The call would cross the hard stop: ${used} records are used and ${leased} are held`);
    this.used = used;
    this.leased = leased;
  }
}

/** The call's deadline passed before its quota was held. */
export class QuotaTooLate extends QuotaError {
  override readonly name = 'QuotaTooLate';
}

/** The call was settled or released before; its id cannot hold quota again. */
export class QuotaCallEnded extends QuotaError {
  override readonly name = 'QuotaCallEnded';
}

/** The call has lost its lease and is not counted: its row has to be taken back. */
export class QuotaLeaseLost extends QuotaError {
  override readonly name = 'QuotaLeaseLost';
}

/** Redis, or the ledger that a lost counter is restored from, did not answer as it should. What has happened is unknown. */
export class QuotaUnavailable extends QuotaError {
  override readonly name = 'QuotaUnavailable';
}

/** The one mapping of refusals to errors. */
export function quotaError({ code, used, leased }: QuotaReply): QuotaError {
  switch (code) {
    case quotaCode.wouldCrossStop:
      return new QuotaWouldCrossStop({ used, leased });
    case quotaCode.tooLate:
      return new QuotaTooLate("The call's deadline passed before its quota was held");
    case quotaCode.callEnded:
      return new QuotaCallEnded('The call has already been settled or released');
    case quotaCode.alreadyReleased:
      return new QuotaLeaseLost('The lease of the call ran out and was released');
    case quotaCode.noSuchLease:
      return new QuotaLeaseLost('Redis has lost the lease of the call');
    case quotaCode.unknownCounter:
      return new QuotaUnavailable('The usage counter is lost and could not be restored');
    default:
      return new QuotaUnavailable(`The quota answered with code ${code}`);
  }
}
