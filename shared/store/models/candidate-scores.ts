import type { Collection, Db, Document } from 'mongodb';
import { callIdPrefix } from '../../contract/identifiers.js';
import { cellAt, idsOfOrganisation, type LeadSegments, type PredictionSegment } from '../calls/prediction-segment.js';
import { amongIds, createClustered } from '../connection/connect.js';

/**
 * One document of `candidate_scores`: the scores of a candidate for the first predictions of leads in a segment. Its
 * columns are those of a segment.
 */
export interface CandidateSegment extends Pick<PredictionSegment, 'org' | 'model' | 'at' | 'arrived_at'> {
  /** See `candidateSegmentId`. */
  readonly _id: string;
  /** The candidate. */
  readonly version: string;
  /** The version that scored the segment's call, and recorded the fields. */
  readonly recorded_by: string;
  readonly crm_ids: readonly string[];
  readonly scores: readonly number[];
  /** Ten-thousandths. */
  readonly likelihoods: readonly number[];
  /** By the current version, recorded or computed; null if it cannot score the record. */
  readonly base_scores: readonly (number | null)[];
  readonly base_likelihoods: readonly (number | null)[];
  readonly records: number;
  /** Set if the candidate may have been trained on these leads. */
  readonly seen?: true;
}

/**
 * `<segment>-<version>`. The ids sort as those of segments do: a hyphen precedes the full stop that begins the row of a
 * call's further segments.
 */
export const candidateSegmentId = (segmentId: string, version: string): string => `${segmentId}-${version}`;

export const candidateScoresCollection = 'candidate_scores';
/** The index of leads. */
export const candidateLeadKey = { org: 1, crm_ids: 1 } as const;
/** Selects leads that the candidate was not trained on. */
export const notSeen = { seen: { $exists: false } } as const;
const columns = ['crm_ids', 'scores', 'likelihoods', 'base_scores', 'base_likelihoods'] as const;
const removedAtOnce = 1_000;
const majority = { writeConcern: { w: 'majority' } } as const;

/** The scores of candidates. */
export class CandidateScoreStore {
  private readonly collection: Collection<CandidateSegment>;

  constructor(private readonly database: Db) {
    this.collection = database.collection<CandidateSegment>(candidateScoresCollection);
  }

  async prepare(): Promise<void> {
    await createClustered(this.database, candidateScoresCollection);
    await this.collection.createIndex(candidateLeadKey);
  }

  /** Stores segments in place of what is stored under their ids. */
  async put(segments: readonly CandidateSegment[]): Promise<void> {
    if (segments.length === 0) return;
    const writes = segments.map((replacement) => ({
      replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true },
    }));
    await this.collection.bulkWrite(writes, { ordered: false, ...majority });
  }

  /** Removes the rows of a lead. @returns whether there were any */
  async eraseLead({ organisationId, crmId, arrivedBy }: LeadSegments): Promise<boolean> {
    const ofLead = {
      org: organisationId,
      crm_ids: crmId,
      _id: idsOfOrganisation(organisationId),
      ...(arrivedBy !== undefined && { arrived_at: { $lte: arrivedBy } }),
    };
    const options = { hint: candidateLeadKey, ...majority };
    return (await this.collection.updateMany(ofLead, withoutLead(crmId), options)).modifiedCount > 0;
  }

  /** Removes some segments. */
  async removeSegments(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.collection.deleteMany({ _id: amongIds(ids) });
  }

  /** Removes all that a version has scored as a candidate, in steps. */
  async removeVersion(of: Pick<CandidateSegment, 'org' | 'model' | 'version'>): Promise<void> {
    const { org, model, version } = of;
    for (let after = callIdPrefix(org); ; ) {
      const { $lt } = idsOfOrganisation(org);
      const ids = await this.collection
        .find({ _id: { $gt: after, $lt }, org, model, version }, { projection: { _id: 1 } })
        .sort({ _id: 1 })
        .limit(removedAtOnce)
        .map(({ _id }) => _id)
        .toArray();
      await this.removeSegments(ids);
      if (ids.length < removedAtOnce) return;
      after = ids.at(-1) ?? after;
    }
  }

  /** Removes what candidates have scored in segments of an organisation before an id. */
  async removeBefore(organisationId: string, beforeId: string): Promise<void> {
    await this.collection.deleteMany({ _id: { $gte: callIdPrefix(organisationId), $lt: beforeId } });
  }
}

/** An update that removes the rows of a lead from all columns. */
function withoutLead(crmId: string): Document[] {
  const isOther = { $ne: [cellAt('$crm_ids'), { $literal: crmId }] };
  const kept = { $filter: { input: { $range: [0, { $size: '$crm_ids' }] }, as: 'index', cond: isOther } };
  const columnOf = (column: string): Document => ({ $map: { input: kept, as: 'index', in: cellAt(`$${column}`) } });
  const all = Object.fromEntries(columns.map((column) => [column, columnOf(column)]));
  return [{ $set: { ...all, records: { $size: kept } } }];
}
