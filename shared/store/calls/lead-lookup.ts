import type { Collection, Document } from 'mongodb';
import { withMongoTimeout } from '../connection/mongo-errors.js';
import { callIdOf, callsCollection, type PredictionSlice, placeOf, predictionId, rowOf } from './prediction-slice.js';

/** The latest prediction of a lead under one model. */
export interface LatestPrediction {
  readonly crmId: string;
  /** Prediction id, see `predictionId`. */
  readonly id: string;
  readonly score: number;
}

export type LatestSlice = Pick<PredictionSlice, '_id' | 'crm_ids' | 'scores'>;

/** Pipeline that finds the latest slice of each lead with one index seek a lead. */
export function latestPipeline(
  under: { readonly org: string; readonly model: string },
  crmIds: readonly string[],
): Document[] {
  const latest = [{ $match: under }, { $sort: { _id: -1 } }, { $limit: 1 }, { $project: { crm_ids: 1, scores: 1 } }];
  return [
    { $documents: crmIds.map((crmId) => ({ crmId: { $literal: crmId } })) },
    {
      $lookup: {
        from: callsCollection,
        localField: 'crmId',
        foreignField: 'crm_ids',
        pipeline: latest,
        as: 'latest',
      },
    },
    { $unwind: '$latest' },
  ];
}

/** If a lead occurs in a call twice, the later row is its latest prediction. */
export function latestOf(crmId: string, { _id, crm_ids: crmIds, scores }: LatestSlice): LatestPrediction {
  const index = crmIds.lastIndexOf(crmId);
  return { crmId, id: predictionId(callIdOf(_id), rowOf(_id) + index), score: scores[index] ?? 0 };
}

/** The fields that a record was scored from. */
export interface StoredRecord {
  readonly version: string;
  /** Cells as JSON by field slot of (model, version); undefined if longer than its share of `maxBytes`. */
  readonly fields: string | undefined;
}

/** A prediction, its slice, and the index in the slice's columns. */
interface Place {
  readonly id: string;
  readonly sliceId: string;
  readonly index: number;
}

/** `texts` are the requested fields of a slice, in the order of the places; null if erased, `false` if too long. */
interface FoundSlice {
  readonly _id: string;
  readonly version: string;
  readonly texts: readonly (string | false | null)[];
}

/** Limit of one read, shared by all records: it bounds the memory of a worker that fills in a chunk. */
const maxBytes = 64 * 1024 * 1024;
/** Slices in one command: MongoDB compares each with all requested places. */
const maxSlices = 16;

/**
 * Reads the fields that records were scored from. MongoDB extracts them from their slices, because a whole slice may be
 * a hundred times as large.
 * @param ids prediction ids
 * @returns records by prediction id, without erased and removed ones
 */
export async function readStoredRecords(
  collection: Collection<PredictionSlice>,
  ids: readonly string[],
  timeoutMs: number,
): Promise<Map<string, StoredRecord>> {
  const found = new Map<string, StoredRecord>();
  const distinct = [...new Set(ids)];
  const maxTextBytes = Math.floor(maxBytes / Math.max(1, distinct.length));
  await withMongoTimeout(timeoutMs, async (signal) => {
    for (const bySlice of placesBySlice(distinct)) {
      const places = [...bySlice.values()].flat();
      const slices = collection
        .find({ _id: { $in: [...bySlice.keys()] }, scores: { $exists: true } }, { signal })
        .project<FoundSlice>({ version: 1, texts: textsAt(places, maxTextBytes) });
      for await (const { _id, version, texts } of slices)
        for (const [place, { id }] of (bySlice.get(_id) ?? []).entries()) {
          const text = texts[place] ?? null;
          if (text !== null) found.set(id, { version, fields: text === false ? undefined : text });
        }
    }
  });
  return found;
}

/** Groups predictions by slice, in one map for each command. */
function placesBySlice(ids: readonly string[]): Map<string, Place[]>[] {
  const commands: Map<string, Place[]>[] = [];
  const bySlice = new Map<string, Place[]>();
  for (const id of ids) {
    const place = { id, ...placeOf(id) };
    const places = bySlice.get(place.sliceId) ?? [];
    places.push(place);
    bySlice.set(place.sliceId, places);
  }
  const entries = [...bySlice];
  for (let start = 0; start < entries.length; start += maxSlices)
    commands.push(new Map(entries.slice(start, start + maxSlices)));
  return commands;
}

/** An expression for the fields of a slice that are among the places. */
const textsAt = (places: readonly Place[], maxTextBytes: number): Document => ({
  $map: {
    input: {
      $filter: {
        input: { $literal: places.map(({ sliceId, index }) => ({ sliceId, index })) },
        as: 'place',
        cond: { $eq: ['$$place.sliceId', '$_id'] },
      },
    },
    as: 'place',
    in: {
      $let: {
        vars: { text: { $arrayElemAt: ['$fields', '$$place.index'] } },
        in: {
          $cond: [{ $gt: [{ $strLenBytes: { $ifNull: ['$$text', ''] } }, maxTextBytes] }, false, '$$text'],
        },
      },
    },
  },
});
