import type { Db, Document } from 'mongodb';
import { withMongoTimeout } from '../connection/connect.js';
import { type LeadIndex, leadIndexOf } from '../lead-index/lead-index.js';
import {
  type LeadQuery,
  latestAmong,
  type OwnScore,
  ofEachLead,
  readLatestSegments,
  readShortHistories,
  type ScoreColumns,
  scoreColumns,
} from './lead-lookup.js';
import { callsCollection, type PredictionSegment } from './prediction-segment.js';

/** Leads in one of several reads; MongoDB takes some milliseconds for them. */
const leadsPerRead = 250;

/** Which leads of an organisation have predictions. A lead whose predictions were removed counts as never scored. */
export interface ScoredAmong {
  readonly organisationId: string;
  readonly crmIds: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

/**
 * The leads among some that have a prediction under any model. Long histories take one index seek a lead.
 * @throws the driver's error
 */
export async function scoredAmong(database: Db, leads: ScoredAmong): Promise<ReadonlySet<string>> {
  const { organisationId, crmIds, signal } = leads;
  const scored = new Set<string>();
  // The cursors obey `signal`.
  const withSignal = signal === undefined ? {} : { signal };
  for (let from = 0; from < crmIds.length; from += leadsPerRead) {
    const some = crmIds.slice(from, from + leadsPerRead);
    // MongoDB drops the other ids: decoding a thousand segments would hold up the event loop for 0.1 s and more.
    const projection = { _id: 0, crm_ids: { $setIntersection: ['$crm_ids', { $literal: some }] } };
    const leadsOfSegments = { organisationId, crmIds: some, ...withSignal };
    const segments = await readShortHistories<{ readonly crm_ids: readonly string[] }>(
      database,
      leadsOfSegments,
      projection,
    );
    if (segments !== undefined) {
      for (const crmId of segments.flatMap(({ crm_ids }) => crm_ids)) scored.add(crmId);
      continue;
    }
    // One batch: MongoDB's default of 101 documents would take a round trip more.
    const options = { batchSize: leadsPerRead + 1, ...withSignal };
    const pipeline = scoredPipeline(await leadIndexOf(database), organisationId, some);
    const found = await database.aggregate<{ readonly crmId: string }>(pipeline, options).toArray();
    for (const { crmId } of found) scored.add(crmId);
  }
  return scored;
}

const scoredPipeline = ({ segmentsOf }: LeadIndex, org: string, crmIds: readonly string[]): Document[] =>
  ofEachLead(crmIds, [{ $match: segmentsOf(org) }, { $limit: 1 }, { $project: { _id: 1 } }]);

/**
 * Reads the latest predictions of leads under one model, whatever other models have scored them. Costs one index seek
 * for each lead, or reads short histories.
 * @returns predictions by crm_id, without leads that the model has not scored
 * @throws the driver's error
 */
export async function readOwnOf(database: Db, query: LeadQuery): Promise<ReadonlyMap<string, OwnScore>> {
  const { modelId, crmIds, timeoutMs } = query;
  if (crmIds.length === 0) return new Map();
  const segments = await withMongoTimeout(timeoutMs, (signal) => readOwnSegments(database, query, signal));
  const found = [...latestAmong(segments, modelId, new Set(crmIds))];
  return new Map(found.flatMap(([crmId, { own }]) => (own === undefined ? [] : [[crmId, own]])));
}

/** Segments of one model that hold its latest predictions of leads. */
async function readOwnSegments(database: Db, query: LeadQuery, signal: AbortSignal): Promise<readonly ScoreColumns[]> {
  const { organisationId: org, modelId: model, crmIds } = query;
  const { key, entriesOf } = await leadIndexOf(database);
  // A model belongs to one organisation.
  const ofModel = { ...entriesOf(org), model };
  // Only the lead index has this order: for that of `_id` alone, MongoDB may read all calls, latest first.
  const latestFirst = { model: 1, _id: -1 } as const;
  const [crmId, ...others] = crmIds;
  if (crmId !== undefined && others.length === 0)
    return await database
      .collection<PredictionSegment>(callsCollection)
      .find({ ...ofModel, crm_ids: crmId }, { hint: key, signal })
      .project<ScoreColumns>(scoreColumns)
      .sort(latestFirst)
      .limit(1)
      .toArray();
  const short = await readShortHistories<ScoreColumns>(database, { ...query, signal }, scoreColumns);
  if (short !== undefined) return short;
  const latest = [{ $match: ofModel }, { $sort: latestFirst }, { $limit: 1 }, { $project: { _id: 0, own: '$_id' } }];
  return await readLatestSegments(database, ofEachLead(crmIds, latest), signal);
}

/**
 * An example of a scored lead, in the order of ids the next after a text or, without one, the first.
 * @returns undefined if the organisation has no predictions
 * @throws the driver's error
 */
export async function scoredLeadNear(
  database: Db,
  {
    organisationId: org,
    crmId,
    signal,
  }: { readonly organisationId: string; readonly crmId: string; readonly signal?: AbortSignal },
): Promise<string | undefined> {
  const { key, segmentsOf } = await leadIndexOf(database);
  const calls = database.collection<PredictionSegment>(callsCollection);
  for (const atLeast of [crmId, '']) {
    const filter = { ...segmentsOf(org), crm_ids: { $elemMatch: { $gte: atLeast } } };
    const segment = await calls.findOne(filter, {
      hint: key,
      projection: { crm_ids: 1 },
      ...(signal === undefined ? {} : { signal }),
    });
    const ids = (segment?.crm_ids ?? []).filter((id): id is string => id !== null && isAtLeast(id, atLeast));
    if (ids.length > 0) return ids.reduce((one, other) => (isAtLeast(one, other) ? other : one));
  }
  return undefined;
}

/** MongoDB orders texts by their bytes. */
const isAtLeast = (one: string, other: string): boolean => Buffer.compare(Buffer.from(one), Buffer.from(other)) >= 0;
