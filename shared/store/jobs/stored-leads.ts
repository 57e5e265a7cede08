import type { Db } from 'mongodb';
import { callIdFloor } from '../../contract/identifiers.js';
import { readSegments, textsAt } from '../calls/lead-lookup.js';
import {
  callIdOf,
  callsCollection,
  cellAt,
  idsOfOrganisation,
  ofSentRecords,
  type PredictionSegment,
  positionOf,
  predictionId,
  rowOf,
} from '../calls/prediction-segment.js';
import { withMongoTimeout } from '../connection/connect.js';
import { leadIndexOf } from '../lead-index/lead-index.js';
import type { Job } from './job-documents.js';

type StoredJob = Pick<Job, 'org' | 'model' | 'created_at'>;

const timeoutMs = 10_000;
/** The values of one slice that are read at once, in bytes. Its records share them. */
const maxBytes = 64 * 1024 * 1024;

/** The calls from this id on arrived when the job existed. Its leads are those of the calls before. */
export const endOfStored = ({ org, created_at: createdAt }: Pick<Job, 'org' | 'created_at'>): string =>
  callIdFloor(createdAt.getTime(), org);

/** A stored lead, as one of its predictions has it. */
export interface StoredLead {
  readonly crmId: string;
  readonly version: string;
  /** The cells that it was scored from, as JSON by slot of the version; undefined if they are too long. */
  readonly fields: string | undefined;
}

interface FoundSegment {
  readonly _id: string;
  readonly version: string;
  readonly indexes: readonly number[];
  readonly crm_ids: readonly (string | null)[];
  readonly texts: readonly (string | false | null)[];
}

/**
 * Reads the leads of predictions.
 * @param ids of at most a thousand predictions
 * @returns leads by prediction id, without erased, voided and removed ones
 * @throws errors of MongoDB
 */
export async function readStoredLeads(database: Db, ids: readonly string[]): Promise<ReadonlyMap<string, StoredLead>> {
  const found = new Map<string, StoredLead>();
  const indexesOf = new Map<string, number[]>();
  for (const id of ids) {
    const { segmentId, index } = positionOf(id);
    const indexes = indexesOf.get(segmentId);
    if (indexes === undefined) indexesOf.set(segmentId, [index]);
    else indexes.push(index);
  }
  if (indexesOf.size === 0) return found;
  const wanted = [...indexesOf].map(([segmentId, indexes]) => ({ segmentId, indexes }));
  const crmIds = { $map: { input: '$indexes', as: 'index', in: cellAt('$crm_ids') } };
  const texts = textsAt('$indexes', Math.floor(maxBytes / ids.length));
  const fields = { version: 1, indexes: 1, crm_ids: crmIds, texts };
  await withMongoTimeout(timeoutMs, async (signal) => {
    for await (const segment of readSegments<FoundSegment>(database, wanted, { fields, signal }))
      for (const [at, index] of segment.indexes.entries()) {
        const [crmId, text] = [segment.crm_ids[at], segment.texts[at]];
        if (typeof crmId !== 'string' || typeof text === 'object' || text === undefined) continue;
        const id = predictionId(callIdOf(segment._id), rowOf(segment._id) + index);
        found.set(id, { crmId, version: segment.version, fields: text === false ? undefined : text });
      }
  });
  return found;
}

/**
 * The last predictions of leads that were sent to the model of a job after its creation. They cost a seek in the lead
 * index for each lead.
 * @returns prediction ids by crm_id
 * @throws errors of MongoDB
 */
export async function sentSince(
  database: Db,
  job: StoredJob,
  crmIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  if (crmIds.length === 0) return found;
  const { key, segmentsOf } = await leadIndexOf(database);
  const _id = { $gte: endOfStored(job), $lt: idsOfOrganisation(job.org).$lt };
  const ofLeads = { ...segmentsOf(job.org), crm_ids: { $in: [...crmIds] }, model: job.model };
  const segments = await withMongoTimeout(timeoutMs, (signal) =>
    database
      .collection<PredictionSegment>(callsCollection)
      .find({ ...ofLeads, _id, ...ofSentRecords }, { hint: key, signal })
      .project<Pick<PredictionSegment, '_id' | 'crm_ids'>>({ crm_ids: 1 })
      .toArray(),
  );
  const wanted = new Set(crmIds);
  for (const { _id: segmentId, crm_ids: own } of segments)
    for (const [row, crmId] of own.entries()) {
      if (crmId === null || !wanted.has(crmId)) continue;
      const id = predictionId(callIdOf(segmentId), rowOf(segmentId) + row);
      if (id > (found.get(crmId) ?? '')) found.set(crmId, id);
    }
  return found;
}
