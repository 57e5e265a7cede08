import { LRUCache } from 'lru-cache';
import type { AggregationCursor, Db, Document, FindCursor } from 'mongodb';
import { withMongoTimeout } from '../connection/connect.js';
import { leadIndexOf, skippingFilter } from '../lead-index/lead-index.js';
import {
  callIdOf,
  callsCollection,
  cellAt,
  type PredictionSegment,
  positionOf,
  predictionId,
  rowOf,
} from './prediction-segment.js';

/** The latest prediction of a lead under one model. */
export interface OwnScore {
  readonly id: string;
  readonly score: number;
}

/** The latest predictions of a lead. */
export interface LeadScores {
  /** Id of the latest prediction under any model. */
  readonly latestId: string;
  /** The latest prediction under one model; undefined when that model has not scored the lead. */
  readonly own: OwnScore | undefined;
}

/** The leads of a look-up, and the model whose latest scores are wanted. */
export interface LeadQuery {
  readonly organisationId: string;
  readonly modelId: string;
  readonly crmIds: readonly string[];
  readonly timeoutMs: number;
}

/** Ids of the latest segments of a lead, under any model and under one. Empty or absent ones are not wanted. */
interface LatestSegments {
  readonly latest?: string;
  readonly own: string;
}

/**
 * Pipeline that summarises the latest segments of each lead. The first `$group` skips from model to model in the lead
 * index (DISTINCT_SCAN). It costs one index seek for each model that has scored the lead, however long the history is.
 * @param summary accumulators over the models of a lead: `$_id` is a model, `$segment` its latest segment of the lead
 * @returns stages whose documents hold `crmId` and the members of `summary`, without leads that have no prediction
 * @throws the driver's error
 */
export const latestByModel = async (
  database: Db,
  org: string,
  crmIds: readonly string[],
  summary: Document,
): Promise<Document[]> =>
  ofEachLead(crmIds, [
    { $match: await skippingFilter(database, await leadIndexOf(database), org) },
    { $sort: { model: 1, _id: -1 } },
    { $group: { _id: '$model', segment: { $first: '$_id' } } },
    { $group: { _id: null, ...summary } },
  ]);

/** Pipeline whose documents are those that another one returns for each lead, with `crmId` in addition. */
export const ofEachLead = (crmIds: readonly string[], pipeline: readonly Document[]): Document[] => [
  { $documents: crmIds.map((crmId) => ({ crmId: { $literal: crmId } })) },
  { $lookup: { from: callsCollection, localField: 'crmId', foreignField: 'crm_ids', pipeline, as: 'found' } },
  { $unwind: '$found' },
  { $replaceWith: { $mergeObjects: ['$found', { crmId: '$crmId' }] } },
];

/** Pipeline of `LatestSegments`. */
const latestSegments = (database: Db, { organisationId, modelId, crmIds }: LeadQuery): Promise<Document[]> =>
  latestByModel(database, organisationId, crmIds, {
    latest: { $max: '$segment' },
    own: { $max: { $cond: [{ $eq: ['$_id', { $literal: modelId }] }, '$segment', ''] } },
  });

/**
 * Segments per lead that are read at once. MongoDB reads a segment in some 10 us, but takes 300 for each sub-pipeline
 * of a `$lookup`. Leads that share segments have up to a hundred index keys for each, at 2 us. A seek
 * under one model takes some 180 us a lead, so fewer segments are worth reading.
 */
const shortHistory = { ofAnyModel: 4, ofOne: 1 };
/** Organisations, and models, whose leads have longer histories. For some time these are not tried at once again. */
const longHistories = new LRUCache<string, true>({ max: 10_000, ttl: 60_000 });

/** Some ids have 200 characters, and a segment has a hundred: a reply of so many is decoded in one step. */
const segmentsPerReply = 250;

/**
 * Reads the segments of leads, under one model or under any, by one query while their histories are short together.
 * @param projection of `Segment`
 * @returns all of them; undefined if there are too many
 */
export async function readShortHistories<Segment extends Document>(
  database: Db,
  leads: Pick<LeadQuery, 'organisationId' | 'crmIds'> & Partial<Pick<LeadQuery, 'modelId'>> & { signal?: AbortSignal },
  projection: Document,
): Promise<readonly Segment[] | undefined> {
  const { organisationId: org, modelId: model, crmIds, signal } = leads;
  const { owner, perLead } =
    model === undefined
      ? { owner: org, perLead: shortHistory.ofAnyModel }
      : { owner: model, perLead: shortHistory.ofOne };
  // One segment tells whether any of the leads was ever scored.
  const most = longHistories.has(owner) ? 0 : perLead * crmIds.length;
  const { key, segmentsOf } = await leadIndexOf(database);
  const segments = await database
    .collection<PredictionSegment>(callsCollection)
    .find(
      { ...segmentsOf(org), crm_ids: { $in: [...crmIds] }, ...(model === undefined ? {} : { model }) },
      { hint: key, batchSize: segmentsPerReply, ...(signal === undefined ? {} : { signal }) },
    )
    .project<Segment>(projection)
    .limit(most + 1)
    .toArray();
  if (segments.length <= most) return segments;
  longHistories.set(owner, true);
  return undefined;
}

/**
 * Reads the latest predictions of leads, however many models the organisation has. Most leads that are not in the
 * latest-scores cache are scored for the first time: one query then shows that none has a prediction.
 * @returns predictions by crm_id, without leads that have none
 */
export async function readLatestOf(database: Db, query: LeadQuery): Promise<ReadonlyMap<string, LeadScores>> {
  const { organisationId, modelId, crmIds, timeoutMs } = query;
  if (crmIds.length === 0) return new Map();
  return await withMongoTimeout(timeoutMs, async (signal) => {
    const segments =
      (await readShortHistories<ScoreColumns>(database, { organisationId, crmIds, signal }, scoreColumns)) ??
      (await readLatestSegments(database, await latestSegments(database, query), signal));
    return latestAmong(segments, modelId, new Set(crmIds));
  });
}

/**
 * The segments that hold the latest predictions of leads, by one query of the index and one of the segments.
 * @param pipeline of `LatestSegments`
 */
export async function readLatestSegments(
  database: Db,
  pipeline: Document[],
  signal: AbortSignal,
): Promise<readonly ScoreColumns[]> {
  const options = { signal, batchSize };
  const leads = await database.aggregate<LatestSegments>(pipeline, options).toArray();
  const segmentIds = new Set(leads.flatMap(({ latest = '', own }) => [latest, own]));
  const wanted = [...segmentIds].map((segmentId) => ({ segmentId }));
  return await readSegments<ScoreColumns>(database, wanted, { fields: scoreColumns, signal }).toArray();
}

/** Documents of one reply, more than a chunk has leads: with as many, or MongoDB's 101, it takes a round trip more. */
const batchSize = 1_001;

export type ScoreColumns = Pick<PredictionSegment, '_id' | 'model' | 'crm_ids' | 'scores'>;
export const scoreColumns = { model: 1, crm_ids: 1, scores: 1 };

/** The latest predictions of leads in some segments, which hold the latest ones of each lead. */
export function latestAmong(
  segments: readonly ScoreColumns[],
  modelId: string,
  leads: ReadonlySet<string>,
): Map<string, LeadScores> {
  const found = new Map<string, LeadScores>();
  // The ids of an organisation sort in the order of its predictions, and so do the rows of a call.
  for (const { _id, model, crm_ids, scores } of [...segments].sort((one, other) => (one._id < other._id ? -1 : 1)))
    for (const [index, crmId] of crm_ids.entries()) {
      if (crmId === null || !leads.has(crmId)) continue;
      const latest = { id: predictionId(callIdOf(_id), rowOf(_id) + index), score: scores[index] ?? 0 };
      found.set(crmId, { latestId: latest.id, own: model === modelId ? latest : found.get(crmId)?.own });
    }
  return found;
}

/** The fields that a record was scored from. */
export interface StoredRecord {
  readonly model: string;
  readonly version: string;
  /** Cells as JSON by field slot of (model, version); undefined if longer than its share of `maxBytes`. */
  readonly fields: string | undefined;
}

/** `texts` are the requested fields of a segment, in the order of the indexes; null if erased, `false` if too long. */
interface FoundSegment {
  readonly _id: string;
  readonly model: string;
  readonly version: string;
  readonly texts: readonly (string | false | null)[];
}

/** Limit of one read, shared by all records: it bounds the memory of a worker that fills in a chunk. */
const maxBytes = 64 * 1024 * 1024;

/**
 * Reads the fields that records were scored from. MongoDB extracts them from their segments, because a whole segment
 * may be a hundred times as large.
 * @param ids prediction ids
 * @returns records by prediction id, without erased and removed ones
 */
export async function readStoredRecords(
  database: Db,
  ids: readonly string[],
  timeoutMs: number,
): Promise<Map<string, StoredRecord>> {
  const found = new Map<string, StoredRecord>();
  if (ids.length === 0) return found;
  const bySegment = new Map<
    string,
    { readonly segmentId: string; readonly ids: string[]; readonly indexes: number[] }
  >();
  for (const id of new Set(ids)) {
    const { segmentId, index } = positionOf(id);
    const segment = bySegment.get(segmentId) ?? { segmentId, ids: [], indexes: [] };
    segment.ids.push(id);
    segment.indexes.push(index);
    bySegment.set(segmentId, segment);
  }
  const maxTextBytes = Math.floor(maxBytes / ids.length);
  const wanted = [...bySegment.values()].map(({ segmentId, indexes }) => ({ segmentId, indexes }));
  const fieldsAt = (at: Indexes) => ({ model: 1, version: 1, texts: textsAt(at, maxTextBytes) });
  await withMongoTimeout(timeoutMs, async (signal) => {
    const [first, ...others] = wanted;
    const segments =
      first !== undefined && others.length === 0
        ? findSegment<FoundSegment>(database, first.segmentId, { fields: fieldsAt(first.indexes), signal })
        : readSegments<FoundSegment>(database, wanted, { fields: fieldsAt('$indexes'), signal });
    for await (const { _id, model, version, texts } of segments)
      for (const [index, id] of (bySegment.get(_id)?.ids ?? []).entries()) {
        const text = texts[index] ?? null;
        if (text !== null) found.set(id, { model, version, fields: text === false ? undefined : text });
      }
  });
  return found;
}

/** Indexes in the columns of a segment, or an expression for them. */
type Indexes = readonly number[] | '$indexes';

/** An expression for the fields of a segment at some indexes. */
export const textsAt = (indexes: Indexes, maxTextBytes: number): Document => ({
  $map: {
    input: indexes,
    as: 'index',
    in: {
      $let: {
        vars: { text: cellAt('$fields') },
        in: {
          $cond: [{ $gt: [{ $strLenBytes: { $ifNull: ['$$text', ''] } }, maxTextBytes] }, false, '$$text'],
        },
      },
    },
  },
});

/** Reads one segment, as a lone single does. The pipeline of several costs MongoDB 1.5 times as much. */
const findSegment = <Segment extends Document>(
  database: Db,
  segmentId: string,
  { fields, signal }: { readonly fields: Document; readonly signal: AbortSignal },
): FindCursor<Segment> =>
  database
    .collection<{ _id: string }>(callsCollection)
    .find<Segment>({ _id: segmentId, scores: { $exists: true } }, { projection: fields, signal });

/**
 * Reads segments by id, in the order of `wanted`. MongoDB may scan a clustered collection for `$in`, but seeks each id
 * of a `$lookup`. A pipeline within the `$lookup` would double its cost.
 * @param wanted without repetition; `fields` may use `$indexes`
 */
export function readSegments<Segment extends Document>(
  database: Db,
  wanted: readonly { readonly segmentId: string; readonly indexes?: readonly number[] }[],
  { fields, signal }: { readonly fields: Document; readonly signal: AbortSignal },
): AggregationCursor<Segment> {
  // The cursor obeys `signal`, although the type of the options lacks it.
  const options = { signal, batchSize };
  return database.aggregate<Segment>(
    [
      { $documents: wanted },
      {
        $lookup: {
          from: callsCollection,
          localField: 'segmentId',
          foreignField: '_id',
          as: 'segment',
        },
      },
      { $unwind: '$segment' },
      { $match: { 'segment.scores': { $exists: true } } },
      { $replaceWith: { $mergeObjects: ['$segment', { indexes: '$indexes' }] } },
      { $project: fields },
    ],
    options,
  );
}
