import type { Document } from 'mongodb';
import { dayStartMs } from '../../contract/dates.js';
import { callIdFloor, callIdPrefix, organisationNumber } from '../../contract/identifiers.js';

/**
 * The collection of scored calls. The first document of a call holds its ledger row (`LedgerRow`) and its first hundred
 * predictions (`PredictionSegment`). Each further hundred is a document without a ledger row. So a call of up to a
 * hundred records is written atomically without a transaction.
 */
export const callsCollection = 'calls';

/**
 * The range of `_id` that contains all documents of an organisation in `calls`. `_id` is the shard key, so a query
 * without it, or a narrower range, goes to every shard.
 */
export const idsOfOrganisation = (organisationId: string): { readonly $gte: string; readonly $lt: string } => ({
  $gte: callIdPrefix(organisationId),
  $lt: `${callIdPrefix(organisationId)}~`,
});

/**
 * Up to a hundred scored records of one call, in columns and in the order of the call. It is a document of `calls` or a
 * part of one (see call-documents.ts). One document a record would cost the database three to four times as much.
 * Append only, except that the erasure of a lead sets its entries of `crm_ids` and `fields` to null.
 */
export interface PredictionSegment {
  /**
   * The call id for the first segment; for further ones, the call id and the row of the first record (`<call
   * id>.0100`). The ids of an organisation sort in the order of its predictions.
   */
  readonly _id: string;
  readonly org: string;
  /** See `organisationNumber`. Documents of earlier releases lack it until `leadscore lead-index --apply` adds it. */
  readonly o: number;
  readonly model: string;
  readonly version: string;
  readonly at: Date;
  /** When the body of the call had arrived, by Redis's clock, which all gateways share. Erasures go by it. */
  readonly arrived_at: Date;
  /** One a record; null if the record had none or was erased. */
  readonly crm_ids: readonly (string | null)[];
  readonly scores: readonly number[];
  /** Conversion likelihoods in ten-thousandths. */
  readonly likelihoods: readonly number[];
  /** The cells that each record was scored from, as JSON by field slot of (model, version); null if erased. */
  readonly fields: readonly (string | null)[];
  /** Number of records without a crm_id. */
  readonly without_crm_id: number;
  /** Number of erased records. */
  readonly erased: number;
  /** On each segment of a call that scored stored leads again. Such a score is never the first one of its lead. */
  readonly source?: 'stored';
}

/** Selects the segments of calls whose records were sent. */
export const ofSentRecords = { source: { $ne: 'stored' } } as const;

/** Selects the segments of a lead. */
export interface LeadSegments {
  readonly organisationId: string;
  readonly crmId: string;
  /** Only those of calls that had arrived by then, by Redis's clock. */
  readonly arrivedBy?: Date | undefined;
}

/** The members that the first segment adds to its call's ledger row, in the form of `$unset`. */
export const segmentColumns = {
  o: 1,
  arrived_at: 1,
  crm_ids: 1,
  scores: 1,
  likelihoods: 1,
  fields: 1,
  without_crm_id: 1,
  erased: 1,
} as const;

/** An expression for the cell of a column (`$scores`) at `$$index`. */
export const cellAt = (column: string): Document => ({ $arrayElemAt: [column, '$$index'] });

/** An expression for the indexes of a lead's rows in a segment. @param crmId an expression for its id */
export const rowsOfLead = (crmId: unknown): Document => ({
  $filter: {
    input: { $range: [0, { $size: '$crm_ids' }] },
    as: 'index',
    cond: { $eq: [cellAt('$crm_ids'), crmId] },
  },
});

/** Larger segments make reads slower: for the fields of one record, MongoDB reads the whole document. */
const maxSegmentRecords = 100;

/** The id of a prediction: the call id and the row of the record (`<call id>.0107`). */
export const predictionId = (callId: string, row: number): string => `${callId}.${String(row).padStart(4, '0')}`;

/** The id of the segment whose first record has this row. */
const segmentIdOf = (callId: string, row: number): string => (row === 0 ? callId : predictionId(callId, row));

/** The call id of a prediction or segment. */
export function callIdOf(id: string): string {
  const dot = id.indexOf('.');
  return dot < 0 ? id : id.slice(0, dot);
}

/** The range of ids of a call's segments without the first. In ASCII the slash follows the full stop. */
export const furtherSegmentsOf = (callId: string): { readonly $gt: string; readonly $lt: string } => ({
  $gt: `${callId}.`,
  $lt: `${callId}/`,
});

/** The row of a prediction, or of a segment's first record, within its call. */
export function rowOf(id: string): number {
  const dot = id.indexOf('.');
  return dot < 0 ? 0 : Number(id.slice(dot + 1));
}

/** The segment that holds a prediction, and the index in its columns. */
export function positionOf(id: string): { readonly segmentId: string; readonly index: number } {
  const row = rowOf(id);
  const index = row % maxSegmentRecords;
  return { segmentId: segmentIdOf(callIdOf(id), row - index), index };
}

/**
 * Lower bound of the prediction ids of an organisation that retention keeps; its ids of earlier days sort below it.
 * @param firstKeptDay number of a UTC day
 */
export const firstKeptId = (firstKeptDay: number, organisationId: string): string =>
  callIdFloor(dayStartMs(firstKeptDay), organisationId);

/** The validation band of a score, 0-4: scores 0-19, 20-39, 40-59, 60-79, 80-100. */
export const bandOf = (score: number): number => Math.min(4, Math.floor(score / 20));

/** The scored records of a call, in columns of equal length. */
export interface ScoredColumns {
  readonly callId: string;
  readonly org: string;
  readonly model: string;
  readonly version: string;
  readonly at: Date;
  /** By Redis's clock; `at` by default. */
  readonly arrivedAt?: Date;
  readonly crmIds: readonly (string | null)[];
  readonly scores: readonly number[];
  readonly likelihoods: readonly number[];
  readonly fields: readonly string[];
  readonly source?: 'stored' | undefined;
}

/** Splits the columns of a call into segments. */
export function segmentsOf(call: ScoredColumns): PredictionSegment[] {
  const { callId, org, model, version, at, arrivedAt = at, source } = call;
  const o = organisationNumber(org);
  const segments: PredictionSegment[] = [];
  for (let row = 0; row < call.scores.length; row += maxSegmentRecords) {
    const end = row + maxSegmentRecords;
    const crmIds = call.crmIds.slice(row, end);
    segments.push({
      _id: segmentIdOf(callId, row),
      ...{ org, o, model, version, at, arrived_at: arrivedAt },
      crm_ids: crmIds,
      scores: call.scores.slice(row, end),
      likelihoods: call.likelihoods.slice(row, end),
      fields: call.fields.slice(row, end),
      without_crm_id: crmIds.reduce((count, crmId) => count + (crmId === null ? 1 : 0), 0),
      erased: 0,
    });
  }
  // Not in the literal above: spreading each segment of each call would cost more than the rest.
  return source === undefined ? segments : segments.map((segment) => ({ ...segment, source }));
}
