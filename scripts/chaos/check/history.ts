import type { UsageBucket } from '../../../shared/redis/keys.js';

/** One attempt at a call. */
export interface CallEvent {
  readonly kind: 'call';
  /** The sent X-Request-Id, which the ledger row contains. */
  readonly requestId: string;
  /** Shared by all attempts at a call. The Idempotency-Key of attempts that have one. */
  readonly group: string;
  readonly isIdempotent: boolean;
  readonly organisation: string;
  readonly bucket: UsageBucket;
  readonly route: 'batch' | 'webhook' | 'usage';
  /** Sent records; 0 for a call that only reads. */
  readonly records: number;
  /** Number of the gateway, from 0. */
  readonly gateway: number;
  /** Ms since the run began. */
  readonly sentMs: number;
  readonly tookMs: number;
  /**
   * The status, or:
   * - `lost`: the connection ended before the answer;
   * - `hung-up`: the caller closed the connection;
   * - `refused`: no connection.
   */
  readonly outcome: number | 'lost' | 'hung-up' | 'refused';
  /** Code of the error, or the defect of a 200. */
  readonly problem?: string;
  readonly isReplay: boolean;
  readonly usageCurrent?: number;
  /** SHA-256 of the scores of a 200. */
  readonly scores?: string;
}

export interface FaultEvent {
  readonly kind: 'fault';
  readonly name: string;
  readonly beganMs: number;
  readonly endedMs: number;
  /** The killed gateway, whose connections were lost. */
  readonly killedGateway?: number;
  /** The gateway that was frozen for the whole fault. */
  readonly frozenGateway?: number;
  /** Error while the fault was injected. */
  readonly failure?: string;
}

/** A process was runnable and got no processor. Durations that were measured meanwhile are too long by `lengthMs`. */
export interface StallEvent {
  readonly kind: 'stall';
  /** The stalled gateway; undefined for the process that makes the calls. */
  readonly gateway?: number;
  readonly atMs: number;
  readonly lengthMs: number;
}

/** A row of the ledger. */
export interface LedgerEvent {
  readonly kind: 'ledger';
  readonly callId: string;
  readonly requestId: string;
  readonly organisation: string;
  readonly bucket: UsageBucket;
  readonly records: number;
  /** Recorded predictions of the call. */
  readonly predictions: number;
}

/** A bulk job at the end of the run. */
export interface JobEvent {
  readonly kind: 'job';
  readonly jobId: string;
  readonly organisation: string;
  readonly state: string;
  readonly pauseReason?: string;
  /** Rows of its file. */
  readonly rows: number;
  /** Lines of its results. */
  readonly shownRows: number;
  /** The first line of its results that is not the row of its file with this number, with its fate. */
  readonly wrongRow?: number;
  /** Scored rows of its slices, shown or not. */
  readonly scored: number;
  /** Lines of its results with a score. */
  readonly shownScored: number;
  readonly wrongSlices: number;
}

/** A monthly counter at the end of the run. */
export interface CounterEvent {
  readonly kind: 'counter';
  readonly organisation: string;
  readonly bucket: UsageBucket;
  /** Records, in Redis. */
  readonly used: number;
  readonly leased: number;
  readonly hardStop: number;
}

/** The options of the run, and findings at its end beside ledger and counters. */
export interface RunEvent {
  readonly kind: 'run';
  readonly seed: number;
  readonly deadlineMs: number;
  /** Predictions of calls without a row in the ledger. */
  readonly strayPredictions: number;
  /** Processes that no fault had ended. */
  readonly unexpectedDeaths: readonly string[];
}

export type HistoryEvent = CallEvent | FaultEvent | StallEvent | LedgerEvent | CounterEvent | JobEvent | RunEvent;
