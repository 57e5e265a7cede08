import type { Cell } from './cells.js';

/**
 * Every message between the gateway and the workers, in one place. A gateway adds a BullMQ job that holds a `ChunkJob`, and
 * reads a `ChunkReply` from its reply stream. A `ChunkPayload` is part of its job, or under a key of its own when it is
 * long. Either way that key is there for as long as somebody waits for the reply.
 */

/** Raised when the form or the meaning of a message changes: each version travels on queues of its own. */
export const messageVersion = 3;

/** The queues: a batch never stands before a single. */
export const lanes = ['singles', 'batches'] as const;
export type Lane = (typeof lanes)[number];

/** Name of a lane's BullMQ queue, which only workers read that know this version of its messages. */
export const laneQueueName = (lane: Lane, version = messageVersion): string => `score-${lane}-${version}`;

/** Records of one job at most. */
export const maxChunkRecords = 250;

/** What BullMQ holds of a job. */
export interface ChunkJob {
  /** Names the payload's key. */
  readonly chunk: string;
  /** The payload as JSON, when it is of at most `maxInJob` characters. */
  readonly payload?: string;
}

/** Most chunks of singles, so that a worker can begin with what its job tells. */
export const maxInJob = 16 * 1024;

/** Records of one model, from one call or, when singles were coalesced, from several. */
export interface ChunkPayload {
  readonly chunk: string;
  /** Id of the gateway whose reply stream waits. */
  readonly gateway: string;
  readonly organisation: string;
  readonly model: string;
  readonly version: string;
  /** The organisation's other models, whose predictions also tell that a record is known. */
  readonly otherModels: readonly string[];
  readonly parts: readonly ChunkPart[];
}

/** The records of one call in a chunk. */
export interface ChunkPart {
  /** Unix ms of the request: what ages are counted to. */
  readonly now: number;
  readonly explain: boolean;
  /** Where the records stand in their call, to name them in messages. */
  readonly firstRow: number;
  /** One a record; null without. */
  readonly crmIds: readonly (string | null)[];
  /** One row of cells a record, by slot. */
  readonly rows: readonly (readonly Cell[])[];
}

/** A part as its gateway writes it: each row is JSON already, since the same text is kept with the prediction. */
export interface OutgoingPart extends Omit<ChunkPart, 'rows'> {
  readonly rows: readonly string[];
}

/** Writes a payload as JSON; the rows, which are most of it, are joined and not written anew. */
export function encodePayload({ parts, ...head }: OutgoingPayload): string {
  const texts = parts.map(
    ({ rows, ...part }) => `${JSON.stringify(part).slice(0, -1)},"rows":[${rows.join(',')}]}`,
  );
  return `${JSON.stringify(head).slice(0, -1)},"parts":[${texts.join(',')}]}`;
}

/** A payload as its gateway writes it. */
export interface OutgoingPayload extends Omit<ChunkPayload, 'parts'> {
  readonly parts: readonly OutgoingPart[];
}

/** The answer to one chunk: parts in the order of the payload's. */
export interface ChunkReply {
  readonly chunk: string;
  /** Set when none of the parts could be scored. */
  readonly failure?: ChunkFailure;
  readonly parts: readonly PartReply[];
}

export interface ChunkFailure {
  readonly code: 'model_unavailable' | 'scoring_failed';
  readonly message: string;
}

export type PartReply = ScoredPart | RefusedPart;

/** Column by column, one entry a record. */
export interface ScoredPart {
  readonly scores: readonly number[];
  /** In ten-thousandths. */
  readonly likelihoods: readonly number[];
  /** 1 when the record matched existing scored data. */
  readonly matched: readonly (0 | 1)[];
  /** The newest score under the same model, or null. */
  readonly previous: readonly (number | null)[];
  /** Row in the part, and the sentence; only rows that trip the recency guard. */
  readonly warnings: readonly (readonly [row: number, text: string])[];
  /**
   * Generation of the newest scores (see LatestScores) that `previous` goes by; empty when Redis did not say, absent in a
   * chunk without leads.
   */
  readonly epoch?: string;
  /** Row in the part, and its cells as JSON; only rows that stored fields were filled into. */
  readonly filled: readonly (readonly [row: number, fields: string])[];
  /** Only of a part that asks to explain. */
  readonly explained?: ExplainedRows;
}

/** How contributions are worked out: from the trees, from the coefficients, or by putting fields in place of others. */
export type ExplainMethod = 'tree' | 'linear' | 'occlusion';

/** What moved the scores of a part. */
export interface ExplainedRows {
  readonly method: ExplainMethod;
  /** The model's fields, which drivers name by their place here. */
  readonly fields: readonly (readonly [field: string, label: string])[];
  /**
   * One list a record: of each driver, the strongest first, the place of its field, its contribution in
   * ten-thousandths and its value as text, one after the other.
   */
  readonly drivers: readonly (readonly (number | string)[])[];
}

/** A part with records that cannot be featurized; nothing of it is scored. */
export interface RefusedPart {
  readonly problems: readonly RecordProblem[];
  /** All there are; `problems` holds the first five. */
  readonly problemCount: number;
}

export interface RecordProblem {
  /** Index of the record in its call. */
  readonly record: number;
  /** Empty when the problem is the record as a whole. */
  readonly field: string;
  readonly expected: string;
  readonly came: string;
}

/** A record of which the model knows no field: gateways add to this what it has instead. */
export const nothingKnown: Omit<RecordProblem, 'record'> = {
  field: '',
  expected: 'at least one field that the model knows',
  came: 'none',
};

export const maxProblemsNamed = 5;
