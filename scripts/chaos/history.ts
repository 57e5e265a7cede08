import type { UsageBucket } from '../../shared/redis-keys.js';

/** One attempt at a call. */
export interface CallEvent {
  readonly kind: 'call';
  /** What was sent as X-Request-Id, by which the ledger's row is found. */
  readonly requestId: string;
  /** Attempts at the same call have the same; it is the Idempotency-Key where they were made under one. */
  readonly group: string;
  readonly isIdempotent: boolean;
  readonly organisation: string;
  readonly bucket: UsageBucket;
  readonly route: 'batch' | 'webhook' | 'usage';
  /** Records that the call is to have scored; 0 for one that reads. */
  readonly records: number;
  /** Number of the gateway, from 0. */
  readonly gateway: number;
  /** Ms since the run began. */
  readonly sentMs: number;
  readonly tookMs: number;
  /** The status; `lost` when the connection ended first; `hung-up` when the caller ended it; `refused` when there was none. */
  readonly outcome: number | 'lost' | 'hung-up' | 'refused';
  /** The error's code, or what is wrong with a 200. */
  readonly problem?: string;
  readonly isReplay: boolean;
  readonly usageCurrent?: number;
  /** SHA-256 of the scores of a 200. */
  readonly scores?: string;
}

/** Something that was done to the service. */
export interface FaultEvent {
  readonly kind: 'fault';
  readonly name: string;
  readonly beganMs: number;
  readonly endedMs: number;
  /** The gateway that was killed, whose connections were lost with it. */
  readonly killedGateway?: number;
  /** The gateway that stood still for as long, and could answer nobody. */
  readonly frozenGateway?: number;
  /** The fault could not be caused; why. */
  readonly failure?: string;
}

/**
 * A process wanted to run and did not get a processor, or did not come round to it: what was measured of a call in that
 * time is too long by as much.
 */
export interface StandstillEvent {
  readonly kind: 'standstill';
  /** The gateway that waited for a processor; undefined for the process that makes the calls. */
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
  /** Predictions that were recorded with it. */
  readonly predictions: number;
}

/** A monthly counter at the end, when all was quiet. */
export interface CounterEvent {
  readonly kind: 'counter';
  readonly organisation: string;
  readonly bucket: UsageBucket;
  /** What Redis says, in records. */
  readonly used: number;
  readonly leased: number;
  readonly hardStop: number;
}

/** How the run was made, and what it found at the end beside ledger and counters. */
export interface RunEvent {
  readonly kind: 'run';
  readonly seed: number;
  readonly deadlineMs: number;
  /** Predictions whose call has no row in the ledger. */
  readonly strayPredictions: number;
  /** Processes that ended and were not told to. */
  readonly unexpectedDeaths: readonly string[];
}

export type HistoryEvent = CallEvent | FaultEvent | StandstillEvent | LedgerEvent | CounterEvent | RunEvent;
