import type { Db } from 'mongodb';
import { withMongoTimeout } from '../connection/connect.js';
import { latestByModel } from './lead-lookup.js';
import { callsCollection, idsOfOrganisation, leadIndex, type PredictionSegment } from './prediction-segment.js';

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

type Columns = Pick<PredictionSegment, '_id' | 'version' | 'at' | 'crm_ids' | 'scores'> & { readonly bytes: number };

/** Once the read segments are larger than this, further leads get their latest score alone. */
const maxBytes = 64 * 1024 * 1024;

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
    const leads = await database.aggregate<LatestModel>(latestByModel(org, crmIds, summary), options).toArray();
    const calls = database.collection<PredictionSegment>(callsCollection);
    let bytes = 0;
    for (const { crmId, latest, models } of leads) {
      const ofLead = { org, crm_ids: crmId, model: latest.model, _id: idsOfOrganisation(org) };
      const segments = await calls
        .find(ofLead, { hint: leadIndex, signal })
        .project<Columns>(columns)
        .sort({ _id: -1 })
        .limit(bytes > maxBytes ? 1 : mostScores)
        .toArray();
      bytes += segments.reduce((sum, segment) => sum + segment.bytes, 0);
      const scores = segments.flatMap((segment) => scoresOf(crmId, segment)).slice(0, mostScores);
      const [last] = segments;
      // The lead may have been erased meanwhile.
      if (last !== undefined)
        found.set(crmId, { model: latest.model, models, version: last.version, at: last.at, scores });
    }
  });
  return found;
}

/** The members of `Columns`, in the form of `$project`. */
const columns = { version: 1, at: 1, crm_ids: 1, scores: 1, bytes: { $bsonSize: '$$ROOT' } };

/** The scores of a lead in a segment, latest first. */
const scoresOf = (crmId: string, { crm_ids: ids, scores }: Columns): number[] =>
  scores.filter((_, row) => ids[row] === crmId).reverse();
