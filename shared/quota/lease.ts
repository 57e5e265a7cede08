/** A lease lasts three deadlines of the slowest endpoint, so that it cannot end while its call may still be recorded. */
export const leaseMsOf = (config: {
  readonly requestTimeoutMs: number;
  readonly webhookTimeoutMs: number;
}): number => 3 * Math.max(config.requestTimeoutMs, config.webhookTimeoutMs);
