import type { LoadOrganisation } from '../../load/load-organisation.js';

/** Messages between the run and the process of the hostile callers. */
export interface AttackOrder {
  readonly name: string;
  readonly seconds: number;
  readonly target: HostileTarget;
}

/** The service as a hostile caller sees it. */
export interface HostileTarget {
  /** Address of the gateway. */
  readonly url: string;
  /** A new trial organisation. `secrets` are its live and its test key. */
  readonly organisation: LoadOrganisation;
}

/**
 * Answer to a call: a status, with the error code if there is one, as `200` or `400 bad_request`. Three names stand for
 * others:
 *
 * - `closed`: the gateway closed the connection without an answer.
 * - `no answer`: no answer came for 15 s, which is beyond every deadline.
 * - `500 overloaded`: internal_error with `Retry-After`, because the caller's own calls in flight exceed what the
 *   service can do in time.
 */
export type AnswerName = string;

/** The third of these names. */
export const overloaded: AnswerName = '500 overloaded';

export interface AttackReport {
  /** Number of answers by name; see `AnswerName`. */
  readonly answers: Readonly<Record<string, number>>;
  /** The first body of each answer that the attack does not expect. */
  readonly unexpected: Readonly<Record<string, string>>;
  /** Why the attack itself failed; undefined if it did not. */
  readonly failure: string | undefined;
}
