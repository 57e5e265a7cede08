/** A lease lasts three deadlines of the slowest endpoint, so that it cannot end while its call may still be recorded. */
export const leaseMsOf = (config: {
  readonly requestTimeoutMs: number;
  readonly webhookTimeoutMs: number;
}): number => 3 * Math.max(config.requestTimeoutMs, config.webhookTimeoutMs);

/** In leases: how far back a call may have been recorded and still be about to settle. */
const recentLeases = 2;

/** The span of recent calls that a counter taken from the ledger has to know one by one, in ms. */
export const recentMs = (leaseMs: number): number => recentLeases * leaseMs;
