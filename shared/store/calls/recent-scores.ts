import type { Db, Document } from 'mongodb';
import { withMongoTimeout } from '../connection/connect.js';
import { type LeadIndex, leadIndexOf } from '../lead-index/lead-index.js';
import { latestByModel } from './lead-lookup.js';
import { callsCollection, cellAt, type PredictionSegment, rowsOfLead } from './prediction-segment.js';

/** The latest score of a lead under any model, and the scores before it under the same model. */
export interface RecentScores {
  readonly model: string;
  /** The version that gave the latest score. */
  readonly version: string;
  /** When the latest score was given. */
  readonly at: Date;
  /** Latest first, at least one. */
  readonly scores: readonly number[];
  /** How many models have scored the lead. */
  readonly models: number;
}

/** The leads of a search, and how many scores of each are wanted. */
interface RecentQuery {
  readonly organisationId: string;
  readonly crmIds: readonly string[];
  readonly mostScores: number;
  readonly timeoutMs: number;
}

/** The model that scored a lead last, and the number of its models. */
interface LatestModel {
  readonly crmId: string;
  readonly latest: { readonly model: string };
  readonly models: number;
}

/** The last segments of a lead under one model, latest first, with its scores in the order of their rows. */
interface LastSegments {
  readonly crmId: string;
  readonly segments: readonly (Pick<PredictionSegment, 'version' | 'at' | 'scores'> & { readonly bytes: number })[];
}

/** Once the read segments are larger than this, further leads get their latest score alone. */
const maxBytes = 64 * 1024 * 1024;
/** Leads of one query: it may read so many beyond `maxBytes`. One for each lead takes this process more CPU time. */
const leadsPerQuery = 5;

/**
 * Reads the recent scores of leads. It costs an index seek for each lead and model, however long the histories are.
 * Then it reads at most `mostScores` segments of each lead.
 * @returns scores by crm_id, without leads that have no prediction
 */
export async function readRecentScores(
  database: Db,
  { organisationId: org, crmIds, mostScores, timeoutMs }: RecentQuery,
): Promise<ReadonlyMap<string, RecentScores>> {
  const found = new Map<string, RecentScores>();
  if (crmIds.length === 0) return found;
  await withMongoTimeout(timeoutMs, async (signal) => {
    // The greatest segment is the latest one: of two such objects MongoDB compares the first members first.
    const summary = { latest: { $max: { segment: '$segment', model: '$_id' } }, models: { $sum: 1 } };
    // The cursor obeys `signal`, although the type of the options lacks it.
    const options = { signal, batchSize: crmIds.length + 1 };
    const pipeline = await latestByModel(database, org, crmIds, summary);
    const index = await leadIndexOf(database);
    const leads = await database.aggregate<LatestModel>(pipeline, options).toArray();
    let bytes = 0;
    // The first lead alone: its size tells whether all segments are large.
    for (let [next, count] = [0, 1]; next < leads.length; [next, count] = [next + count, leadsPerQuery]) {
      const part = leads.slice(next, next + count);
      const most = bytes > maxBytes ? 1 : mostScores;
      const read = await database
        .aggregate<LastSegments>(lastSegments(index, { org, leads: part, most }), options)
        .toArray();
      const byLead = new Map(read.map(({ crmId, segments }) => [crmId, segments]));
      for (const { crmId, latest, models } of part) {
        const segments = byLead.get(crmId) ?? [];
        bytes += segments.reduce((sum, segment) => sum + segment.bytes, 0);
        const scores = segments.flatMap((segment) => segment.scores.toReversed()).slice(0, mostScores);
        const [last] = segments;
        // The lead may have been erased meanwhile.
        if (last !== undefined)
          found.set(crmId, { model: latest.model, models, version: last.version, at: last.at, scores });
      }
    }
  });
  return found;
}

/** Pipeline that reads the last segments of leads, each under its latest model. */
const lastSegments = (
  { segmentsOf }: LeadIndex,
  { org, leads, most }: { readonly org: string; readonly leads: readonly LatestModel[]; readonly most: number },
): Document[] => [
  { $documents: leads.map(({ crmId, latest }) => ({ crmId: { $literal: crmId }, model: { $literal: latest.model } })) },
  {
    $lookup: {
      ...{ from: callsCollection, localField: 'crmId', foreignField: 'crm_ids', as: 'segments' },
      let: { crmId: '$crmId', model: '$model' },
      pipeline: [
        { $match: { ...segmentsOf(org), $expr: { $eq: ['$model', '$$model'] } } },
        // Only the lead index has this order: for that of `_id` alone, MongoDB may read all calls, latest first.
        { $sort: { model: 1, _id: -1 } },
        { $limit: most },
        { $project: { _id: 0, version: 1, at: 1, bytes: { $bsonSize: '$$ROOT' }, scores: scoresOfLead } },
      ],
    },
  },
];

/** The scores of `$$crmId` in a segment, in the order of its rows. */
const scoresOfLead = { $map: { input: rowsOfLead('$$crmId'), as: 'index', in: cellAt('$scores') } };
