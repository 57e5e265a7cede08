import type { Lane } from '../contract/lanes.js';
import type { Cell } from './cells.js';

/**
 * All messages between gateways and workers. A gateway adds a BullMQ job with a `ChunkJob`, and reads the `ChunkReply`
 * from its reply stream. The `ChunkPayload` is part of the job or, when it is long, the value of the chunk's payload
 * key. In both cases the payload key exists while a call waits for the reply; its absence cancels the chunk.
 */

/** Incremented when the form or the meaning of a message changes. Each version has its own queues. */
export const messageVersion = 9;

/** Name of a lane's BullMQ queue. Only workers that know this message version read it. */
export const laneQueueName = (lane: Lane, version = messageVersion): string => `score-${lane}-${version}`;

/** Max records of one job. See `ChunkSizes` in the gateway. */
export const maxChunkRecords = 1_000;
/** Max records of a chunk that is explained, or whose stored fields are long. */
export const smallChunkRecords = 250;

/** Names a chunk before its payload is parsed, so that a worker process can note what it has in hand. */
export interface ChunkHead {
  /** Id of the chunk; names the payload key. */
  readonly chunk: string;
  /** The partition whose queue has the job. */
  readonly partition: number;
  /** Id of the gateway, whose reply stream gets the reply. */
  readonly gateway: string;
  readonly organisation: string;
  readonly model: string;
  readonly version: string;
}

/** The data of a BullMQ job. */
export interface ChunkJob extends ChunkHead {
  /** The payload as JSON, see `encodePayload`, unless it exceeds `maxInJob` characters. */
  readonly payload?: string;
}

/** Max characters of a payload inside its job. Most chunks of singles fit, which saves the worker a round trip. */
export const maxInJob = 16 * 1024;

/** Records of one model, from one batch call or from several singles. */
export interface ChunkPayload extends ChunkHead {
  readonly parts: readonly ChunkPart[];
}

/** The records of one call in a chunk. */
export interface ChunkPart {
  /** Unix ms of the request, from which ages are computed. */
  readonly now: number;
  readonly explain: boolean;
  /** Whether records that cannot be scored are refused one by one. Without it, one such record refuses the part. */
  readonly tolerant?: true;
  /** Whether the reply says of each record how its fields were read. */
  readonly reportsRecords?: true;
  /** Index of the first record in its call, for messages. */
  readonly firstRow: number;
  /** One entry a record; null without a crm_id, and for test keys. */
  readonly crmIds: readonly (string | null)[];
  /** One row of cells a record, in the order of slots. */
  readonly rows: readonly (readonly Cell[])[];
}

/** A part in the gateway. Each row is JSON already: the same text is stored with the prediction. */
export interface OutgoingPart extends Omit<ChunkPart, 'rows'> {
  readonly rows: readonly string[];
}

/** Encodes a payload as JSON, without the head. The rows, most of the text, are joined instead of serialized again. */
export function encodePayload(parts: readonly OutgoingPart[]): string {
  const texts = parts.map(({ rows, ...part }) => `${JSON.stringify(part).slice(0, -1)},"rows":[${rows.join(',')}]}`);
  return `{"parts":[${texts.join(',')}]}`;
}

/** A payload in the gateway. */
export interface OutgoingPayload extends Omit<ChunkPayload, 'parts'> {
  readonly parts: readonly OutgoingPart[];
}

/** The reply to one chunk, with parts in the order of the payload. */
export interface ChunkReply {
  readonly chunk: string;
  /** Set when no part could be scored. */
  readonly failure?: ChunkFailure;
  readonly parts: readonly PartReply[];
}

export interface ChunkFailure {
  readonly code: 'model_unavailable' | 'scoring_failed';
  readonly message: string;
}

export type PartReply = ScoredPart | RefusedPart | TooLongPart;

/** Scores as columns, one entry for each accepted record. Rows are counted among those. */
export interface ScoredPart {
  readonly scores: readonly number[];
  /** Ten-thousandths. */
  readonly likelihoods: readonly number[];
  /** 1 when the record matched existing scored data. */
  readonly matched: readonly (0 | 1)[];
  /** The lead's latest score under the same model, or null. */
  readonly previous: readonly (number | null)[];
  /** Only rows that trip the recency guard. */
  readonly warnings: readonly (readonly [row: number, text: string])[];
  /**
   * Epoch of the latest scores (see LatestScores) under which the leads were read. Empty when Redis did not answer, or
   * when MongoDB had a later prediction of a lead; absent in a chunk without leads.
   */
  readonly epoch?: string;
  /** The slots below 25 that have no value in the recorded row; see `gapsOf`. Present with `epoch`. */
  readonly gaps?: readonly number[];
  /** Only rows that got stored fields, with all their cells as JSON. */
  readonly filled: readonly (readonly [row: number, fields: string])[];
  /** How the fields of the accepted records were read. */
  readonly readings: FieldReadings;
  /** Only for a part with `explain` and an accepted record. */
  readonly explained?: ExplainedRows;
  /** The first problem of each refused record, in order. Only for a tolerant part with such records. */
  readonly refused?: readonly RecordProblem[];
}

/**
 * The kinds of readings that need attention:
 * - `missing`: the field was neither sent with a value nor filled in.
 * - `unread`: its value could not be read, and counts as missing.
 * - `unseen`: the model has not seen its value.
 * - `filled`: it was not sent, and its value is that of an earlier prediction.
 * - `ambiguous`: its date was read, and is another day in the other order of day and month.
 */
export const readingKinds = ['missing', 'unread', 'unseen', 'filled', 'ambiguous'] as const;
export type ReadingKind = (typeof readingKinds)[number];

/** Characters of a value in a report of readings. */
export const maxReportedValue = 64;
/** Different values of a slot in a report of readings. */
export const maxReportedValues = 20;

/** How the fields of the accepted records of a part were read. Slots are those that features read. */
export interface FieldReadings {
  /** Flat: slot, index of the kind, records, and so on. Only counts above zero. */
  readonly counts: readonly number[];
  /** The unread and unseen values: of each slot and kind the first 20 different ones, cut to 64 characters. */
  readonly values: readonly (readonly [slot: number, kind: number, value: string, records: number])[];
  /**
   * For a part that reports records, one flat list a record: slot, index of the kind, value (empty for a missing or
   * filled field).
   */
  readonly records?: readonly (readonly (number | string)[])[];
}

/** How contributions are computed: from the trees, from the coefficients, or by replacing fields. */
export type ExplainMethod = 'tree' | 'linear' | 'occlusion';

/** Contributions to the scores of a part. */
export interface ExplainedRows {
  readonly method: ExplainMethod;
  /** The model's fields; drivers name them by index. */
  readonly fields: readonly (readonly [field: string, label: string])[];
  /**
   * One flat list a record: for each driver, strongest first, the index of its field, its contribution in
   * ten-thousandths and its value as text.
   */
  readonly drivers: readonly (readonly (number | string)[])[];
  /** The drivers whose value the model has not seen. */
  readonly unseen?: readonly (readonly [record: number, field: number])[];
  /** In a gateway: the drivers whose value the caller may not read, each as record times fields plus field. */
  readonly hidden?: ReadonlySet<number>;
}

/** A part with records that cannot be featurized, unless it is tolerant. No record of it is scored. */
export interface RefusedPart {
  readonly problems: readonly RecordProblem[];
  /** Count of all problems; `problems` has the first five. */
  readonly problemCount: number;
}

/**
 * A part of a chunk of more than 250 records whose stored fields exceed the limit of a small chunk. No record of it is
 * scored: its gateway sends it again in small chunks.
 */
interface TooLongPart {
  readonly isTooLong: true;
}

export interface RecordProblem {
  /** Index of the record in its call. */
  readonly record: number;
  /** Empty when the problem is the whole record. */
  readonly field: string;
  readonly expected: string;
  readonly came: string;
}

/** The problem of a record without a field that the model knows. */
export const nothingKnown: Omit<RecordProblem, 'record'> = {
  field: '',
  expected: 'at least one field that the model knows',
  came: 'none',
};

export const maxProblemsNamed = 5;
