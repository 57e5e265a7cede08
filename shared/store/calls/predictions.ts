import type { Collection, Db, Document } from 'mongodb';
import { amongIds, withMongoTimeout } from '../connection/connect.js';
import { leadIndexOf } from '../lead-index/lead-index.js';
import {
  type LeadQuery,
  type LeadScores,
  type OwnScore,
  readLatestOf,
  readStoredRecords,
  type StoredRecord,
} from './lead-lookup.js';
import {
  callIdOf,
  callsCollection,
  cellAt,
  idsOfOrganisation,
  type LeadSegments,
  type PredictionSegment,
  predictionId,
  rowOf,
  rowsOfLead,
  segmentColumns,
} from './prediction-segment.js';
import { readOwnOf, type ScoredAmong, scoredAmong, scoredLeadNear } from './scored-leads.js';

/** One prediction in the history of a lead. */
export interface PastScore {
  readonly id: string;
  readonly model: string;
  readonly version: string;
  readonly score: number;
  /** In ten-thousandths. */
  readonly likelihood: number;
  readonly at: Date;
}

/** A page of a history ends after segments of this size; MongoDB reads whole segments, of up to 16 MiB each. */
const maxHistoryBytes = 64 * 1024 * 1024;
/** More than most leads have. */
const firstSegmentsRead = 5;
/**
 * The segments of a read are at most so many times those of the read before, because their sizes are not known. A page
 * of the default size takes two reads.
 */
const maxGrowth = 10;

/** The predictions of leads. */
export class PredictionStore {
  private readonly collection: Collection<PredictionSegment>;

  constructor(private readonly database: Db) {
    this.collection = database.collection<PredictionSegment>(callsCollection);
  }

  /** The next organisations with calls whose ids begin with a greater text, one for each such beginning. */
  async organisationsAfter(callId: string, most: number): Promise<string[]> {
    const found: string[] = [];
    for (let after = callId; found.length < most; ) {
      const next = await this.collection.findOne(
        { _id: { $gt: after }, org: { $exists: true } },
        { projection: { org: 1 }, sort: { _id: 1 }, hint: { _id: 1 } },
      );
      if (next === null) break;
      found.push(next.org);
      after = idsOfOrganisation(next.org).$lt;
    }
    return found;
  }

  /** Ids of the oldest segments of an organisation from one id up to another, in the order of their ids. */
  async oldest(between: { readonly fromId: string; readonly beforeId: string; readonly most: number }) {
    const { fromId, beforeId, most } = between;
    return await this.collection
      .find({ _id: { $gte: fromId, $lt: beforeId }, scores: { $exists: true } })
      .project<{ readonly _id: string }>({ _id: 1 })
      .sort({ _id: 1 })
      .limit(most)
      .map(({ _id }) => _id)
      .toArray();
  }

  /** Removes segments; the ledger rows of their calls stay. */
  async remove(ids: readonly string[]): Promise<void> {
    const isFirst = (id: string): boolean => callIdOf(id) === id;
    const firsts = ids.filter(isFirst);
    const further = ids.filter((id) => !isFirst(id));
    if (firsts.length > 0) await this.collection.updateMany({ _id: amongIds(firsts) }, { $unset: segmentColumns });
    if (further.length > 0) await this.collection.deleteMany({ _id: amongIds(further) });
  }

  /** See `readLatestOf`. */
  latest(query: LeadQuery): Promise<ReadonlyMap<string, LeadScores>> {
    return readLatestOf(this.database, query);
  }

  /** See `readOwnOf`. */
  latestOwn(query: LeadQuery): Promise<ReadonlyMap<string, OwnScore>> {
    return readOwnOf(this.database, query);
  }

  /** See `readStoredRecords`. */
  storedRecords(ids: readonly string[], timeoutMs: number): Promise<Map<string, StoredRecord>> {
    return readStoredRecords(this.database, ids, timeoutMs);
  }

  /** See the function of this name. Takes at most `timeoutMs`. */
  scoredAmong(leads: Omit<ScoredAmong, 'signal'>, timeoutMs: number): Promise<ReadonlySet<string>> {
    return withMongoTimeout(timeoutMs, (signal) => scoredAmong(this.database, { ...leads, signal }));
  }

  /** See the function of this name. Takes at most `timeoutMs`. */
  scoredLeadNear(lead: { organisationId: string; crmId: string }, timeoutMs: number): Promise<string | undefined> {
    return withMongoTimeout(timeoutMs, (signal) => scoredLeadNear(this.database, { ...lead, signal }));
  }

  /**
   * One page of the predictions of a lead, latest first. MongoDB takes the order from the lead index alone, before it
   * reads a segment, and only the rows of the lead leave it. A page ends early when its segments are large.
   * @param query.before id of the last prediction of the previous page
   */
  async history(query: {
    readonly organisationId: string;
    readonly crmId: string;
    readonly modelId: string | undefined;
    readonly before: string | undefined;
    readonly limit: number;
    readonly timeoutMs: number;
  }): Promise<{ readonly scores: readonly PastScore[]; readonly isLast: boolean }> {
    const { organisationId, crmId, modelId, before, limit, timeoutMs } = query;
    const ofModel = modelId === undefined ? {} : { model: modelId };
    let ids = idsBefore(organisationId, before);
    const scores: PastScore[] = [];
    let [read, bytes] = [0, 0];
    return await withMongoTimeout(timeoutMs, async (signal) => {
      const { key, entriesOf } = await leadIndexOf(this.database);
      const ofLead = { ...entriesOf(organisationId), crm_ids: crmId, ...ofModel };
      for (let size = firstSegmentsRead; ; ) {
        // Without `org`: MongoDB would read all segments of the lead before it sorts them.
        const segments = await this.collection
          .find({ ...ofLead, _id: ids }, { hint: key, signal })
          .project<LeadSegment>(rowsOf(crmId))
          .sort({ _id: -1 })
          .limit(size)
          .toArray();
        for (const segment of segments) {
          if (segment.org !== organisationId) continue;
          // The previous page may have shown rows of the first segment.
          for (const score of scoresOf(segment)) if (before === undefined || score.id < before) scores.push(score);
          bytes += segment.bytes;
        }
        const isFull = scores.length > limit || (scores.length > 0 && bytes > maxHistoryBytes);
        if (isFull) return { scores: scores.slice(0, limit), isLast: false };
        const last = segments.at(-1);
        if (last === undefined || segments.length < size) return { scores, isLast: true };
        ids = { ...ids, $lt: last._id };
        read += size;
        // As many as the page needs if they have as many rows and bytes as those before.
        const forRows = (limit + 1 - scores.length) / Math.max(1, scores.length);
        const forBytes = (maxHistoryBytes - bytes) / bytes;
        size = Math.max(1, Math.min(Math.ceil(read * Math.min(forRows, forBytes)), maxGrowth * size));
      }
    });
  }

  /** Whether a lead has any prediction. */
  async knows(organisationId: string, crmId: string): Promise<boolean> {
    const { key, segmentsOf } = await leadIndexOf(this.database);
    const ofLead = { ...segmentsOf(organisationId), crm_ids: crmId };
    const found = await this.collection.findOne(ofLead, { projection: { _id: 1 }, hint: key });
    return found !== null;
  }

  /**
   * Some of the segments that hold a lead, in no particular order.
   * @param lead.arrivedBy of calls that had arrived by then, by Redis's clock; of all calls without it
   */
  async segmentsWith(lead: LeadSegments, most: number): Promise<Pick<PredictionSegment, '_id' | 'at'>[]> {
    const { organisationId, crmId, arrivedBy } = lead;
    const { key, segmentsOf } = await leadIndexOf(this.database);
    return await this.collection
      .find(
        {
          ...{ ...segmentsOf(organisationId), crm_ids: crmId },
          ...(arrivedBy === undefined ? {} : { arrived_at: { $lte: arrivedBy } }),
        },
        { hint: key },
      )
      .project<Pick<PredictionSegment, '_id' | 'at'>>({ at: 1 })
      .limit(most)
      .toArray();
  }

  /** Removes the id and fields of a lead from segments, the only change that a prediction ever undergoes. */
  async erase(
    { organisationId, crmId }: Pick<LeadSegments, 'organisationId' | 'crmId'>,
    ids: readonly string[],
  ): Promise<void> {
    // By the lead's index: for ids alone MongoDB would scan a clustered collection.
    const { key, segmentsOf } = await leadIndexOf(this.database);
    const segments = { ...segmentsOf(organisationId), crm_ids: crmId, _id: { $in: [...ids] } };
    await this.collection.updateMany(segments, erasure(crmId), { hint: key, writeConcern: { w: 'majority' } });
  }
}

/** The ids of an organisation's segments before a prediction; all of them without one. */
function idsBefore(
  organisationId: string,
  before: string | undefined,
): { readonly $gte: string; readonly $lt: string } {
  const all = idsOfOrganisation(organisationId);
  return before !== undefined && before < all.$lt ? { ...all, $lt: before } : all;
}

/** The rows of a lead in one segment. */
interface LeadSegment extends Pick<PredictionSegment, '_id' | 'org' | 'model' | 'version' | 'at'> {
  /** Size of the whole segment. */
  readonly bytes: number;
  readonly rows: readonly { readonly index: number; readonly score: number; readonly likelihood: number }[];
}

/** The members of a `LeadSegment`, in the form of `$project`. */
function rowsOf(crmId: string): Document {
  const row = { index: '$$index', score: cellAt('$scores'), likelihood: cellAt('$likelihoods') };
  const rows = { $map: { input: rowsOfLead({ $literal: crmId }), as: 'index', in: row } };
  return { org: 1, model: 1, version: 1, at: 1, bytes: { $bsonSize: '$$ROOT' }, rows };
}

/** The predictions of a lead in one segment, latest first. */
const scoresOf = ({ _id, model, version, at, rows }: LeadSegment): PastScore[] =>
  rows
    .map(({ index, score, likelihood }) => {
      const id = predictionId(callIdOf(_id), rowOf(_id) + index);
      return { id, model, version, at, score, likelihood };
    })
    .reverse();

/** An update that sets the id and fields of a lead to null, in each of its rows. */
function erasure(crmId: string): Document[] {
  const isLead = (value: string): Document => ({ $eq: [value, { $literal: crmId }] });
  const rowIsLead = isLead('$$row.crm_id');
  const rows = {
    $map: {
      input: { $range: [0, { $size: '$crm_ids' }] },
      as: 'index',
      in: { crm_id: cellAt('$crm_ids'), fields: cellAt('$fields') },
    },
  };
  const columnOf = (value: string): Document => ({
    $map: { input: rows, as: 'row', in: { $cond: [rowIsLead, null, value] } },
  });
  const leadRows = { $filter: { input: '$crm_ids', as: 'crmId', cond: isLead('$$crmId') } };
  return [
    {
      $set: {
        erased: { $add: ['$erased', { $size: leadRows }] },
        fields: columnOf('$$row.fields'),
        crm_ids: columnOf('$$row.crm_id'),
      },
    },
  ];
}
