/** What the processes of the baseline say to one another. */

export const bareQueueName = 'bare-score';

/** One call. */
export interface BareJob {
  /** A `V1ScoreRequest` as JSON. */
  readonly body: string;
  /** Unix ms that ages are counted to. */
  readonly nowMs: number;
}

/** The header of a reply that says to when ages were counted, Unix ms: there is no ledger that would. */
export const scoredAtHeader = 'X-Scored-At';

/** Sent by the HTTP process when it answers. */
export interface BareReady {
  readonly port: number;
}
