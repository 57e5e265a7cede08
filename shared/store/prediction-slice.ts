import { callIdFloor, longestArrivalMs } from '../identifiers.js';
import { dayNumber, dayStartMs } from '../utc-day.js';

/**
 * Up to a hundred scored records of one call, column by column, in the order of the call: a document of `calls`, or a part
 * of one (see call-documents.ts). A document a record costs the database three to four times as much. Append only, but for
 * a lead that is erased: its entries of `crm_ids` and `fields` become null.
 */
export interface PredictionSlice {
  /**
   * The call id and the row of its first record (`<call id>.0100`); of the first slice only the call id. The order of ids
   * is the order of predictions.
   */
  readonly _id: string;
  readonly org: string;
  readonly model: string;
  readonly version: string;
  readonly at: Date;
  /** One a record; null for a record that came without one, or that was erased. */
  readonly crm_ids: readonly (string | null)[];
  readonly scores: readonly number[];
  /** Conversion likelihoods in ten-thousandths. */
  readonly likelihoods: readonly number[];
  /**
   * The cells that each record was scored from, by slot of (model, version), as JSON; see known-fields.ts. Null for a
   * record that was erased.
   */
  readonly fields: readonly (string | null)[];
  /** How many of its records came without a crm_id. */
  readonly without_crm_id: number;
  /** How many of its records were erased. */
  readonly erased: number;
}

/** What a first slice adds to the row of its call, as MongoDB is told of members to take away. */
export const sliceColumns = {
  crm_ids: 1,
  scores: 1,
  likelihoods: 1,
  fields: 1,
  without_crm_id: 1,
  erased: 1,
} as const;

/** Records of one document at most: for the fields of one record, MongoDB reads those of its neighbours. */
const maxSliceRecords = 100;

/** The id of a record's prediction: that of its call, and its row there (`<call id>.0107`). */
export const predictionId = (callId: string, row: number): string =>
  `${callId}.${String(row).padStart(4, '0')}`;

/** The id of the slice that begins with a row. */
const sliceIdOf = (callId: string, row: number): string => (row === 0 ? callId : predictionId(callId, row));

/** The call that a prediction, or a slice, belongs to. */
export function callIdOf(id: string): string {
  const dot = id.indexOf('.');
  return dot < 0 ? id : id.slice(0, dot);
}

/** The ids of a call's slices but the first. The slash comes right after the full stop. */
export const furtherSlicesOf = (callId: string): { readonly $gt: string; readonly $lt: string } => ({
  $gt: `${callId}.`,
  $lt: `${callId}/`,
});

/** The row that a prediction, or a slice's first record, has in its call. */
export function rowOf(id: string): number {
  const dot = id.indexOf('.');
  return dot < 0 ? 0 : Number(id.slice(dot + 1));
}

/** The slice that holds a prediction, and where in its columns. */
export function placeOf(id: string): { readonly sliceId: string; readonly index: number } {
  const row = rowOf(id);
  const index = row % maxSliceRecords;
  return { sliceId: sliceIdOf(callIdOf(id), row - index), index };
}

/**
 * The text that is smaller than the id of every prediction of a day that is kept, and larger than those of all days before:
 * with so many days of retention, beside the day that `nowMs` lies in.
 */
export const firstKeptId = (nowMs: number, retentionDays: number): string =>
  callIdFloor(dayStartMs(dayNumber(nowMs) - retentionDays) - longestArrivalMs);

/** The validation band of a score, 0-4: scores 0-19, 20-39, 40-59, 60-79, 80-100. */
export const bandOf = (score: number): number => Math.min(4, Math.floor(score / 20));

/** What is recorded of a call's scored records; the columns are equally long. */
export interface ScoredColumns {
  readonly callId: string;
  readonly org: string;
  readonly model: string;
  readonly version: string;
  readonly at: Date;
  readonly crmIds: readonly (string | null)[];
  readonly scores: readonly number[];
  readonly likelihoods: readonly number[];
  readonly fields: readonly string[];
}

/** Cuts the columns of a call into the documents that are stored. */
export function slicesOf(call: ScoredColumns): PredictionSlice[] {
  const { callId, org, model, version, at } = call;
  const slices: PredictionSlice[] = [];
  for (let row = 0; row < call.scores.length; row += maxSliceRecords) {
    const end = row + maxSliceRecords;
    const crmIds = call.crmIds.slice(row, end);
    slices.push({
      _id: sliceIdOf(callId, row),
      ...{ org, model, version, at },
      crm_ids: crmIds,
      scores: call.scores.slice(row, end),
      likelihoods: call.likelihoods.slice(row, end),
      fields: call.fields.slice(row, end),
      without_crm_id: crmIds.reduce((count, crmId) => count + (crmId === null ? 1 : 0), 0),
      erased: 0,
    });
  }
  return slices;
}
