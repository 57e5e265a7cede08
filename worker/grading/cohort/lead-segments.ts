import type { Document } from 'mongodb';
import { dayStartMs } from '../../../shared/contract/dates.js';
import {
  callsCollection,
  idsOfOrganisation,
  ofSentRecords,
  type PredictionSegment,
} from '../../../shared/store/calls/prediction-segment.js';
import { leadIndexOf } from '../../../shared/store/lead-index/lead-index.js';
import { candidateLeadKey } from '../../../shared/store/models/candidate-scores.js';
import { blocksOf, idsOfDays } from './scan-requests.js';
import { type GradedVersion, readInBatches, type Snapshot, sourcesOf } from './snapshot.js';

/** The columns of a segment that identify the first predictions of leads. */
export type LeadSegment = Pick<PredictionSegment, '_id' | 'at' | 'crm_ids' | 'scores' | 'likelihoods'>;

/** 15,000 records are decoded in a few milliseconds. A segment may hold a single record. */
export const batchSizes = {
  first: 100,
  max: 1_000,
  records: 15_000,
  recordsOf: (segment: Pick<LeadSegment, 'crm_ids'>): number => segment.crm_ids.length,
};
const byId = { _id: 1 } as const;
const leadColumns = { at: 1, crm_ids: 1, scores: 1, likelihoods: 1 } as const;

/**
 * Rows without scores belong to test keys, or have lost their predictions to retention. A stored lead that was scored
 * again counts as a repeat, also as the first score of a version: `scanRequests` counts its row.
 */
const ofVersion = ({ organisationId, modelId, version }: GradedVersion): Document => ({
  _id: idsOfOrganisation(organisationId),
  org: organisationId,
  model: modelId,
  version,
  scores: { $exists: true },
  ...ofSentRecords,
});

/**
 * Reads all segments of a version in batches, in the order of their ids; those that it scored as a candidate come last.
 * In a clustered collection, the calls of an organisation lie together.
 * @throws MongoDB errors
 */
export async function* allSegments(snapshot: Snapshot, graded: GradedVersion): AsyncGenerator<readonly LeadSegment[]> {
  for (const { find, of } of sourcesOf(graded)) {
    const command = { find, filter: { ...ofVersion(graded), ...of }, projection: leadColumns, hint: byId };
    yield* readInBatches<LeadSegment>(snapshot, command, batchSizes);
  }
}

/**
 * Reads the segments of a version with any of the given leads through the lead index. They come in batches, in no
 * particular order.
 * @param crmIds at most a few thousand: an id may take 1 kB, and one command 16 MB
 * @throws MongoDB errors
 */
export async function* segmentsOfLeads(
  snapshot: Snapshot,
  graded: GradedVersion,
  crmIds: readonly string[],
): AsyncGenerator<readonly LeadSegment[]> {
  const { key, segmentsOf } = await leadIndexOf(snapshot.database);
  for (const { find, of } of sourcesOf(graded)) {
    const isCalls = find === callsCollection;
    const ofLeads = { ...(isCalls ? segmentsOf(graded.organisationId) : {}), crm_ids: { $in: crmIds } };
    const filter = { ...ofVersion(graded), ...of, ...ofLeads };
    const hint = isCalls ? key : candidateLeadKey;
    yield* readInBatches<LeadSegment>(snapshot, { find, filter, projection: leadColumns, hint }, batchSizes);
  }
}

/**
 * Lists the leads that were scored on given days.
 * @param days ascending numbers of UTC days
 * @returns undefined if there are more than `max`
 * @throws MongoDB errors
 */
export async function leadsOfDays(
  snapshot: Snapshot,
  graded: GradedVersion,
  { days, max }: { readonly days: readonly number[]; readonly max: number },
): Promise<ReadonlySet<string> | undefined> {
  const leads = new Set<string>();
  for (const { first, last } of blocksOf(days)) {
    const filter = {
      ...ofVersion(graded),
      _id: idsOfDays(graded.organisationId, first, last),
      at: { $gte: new Date(dayStartMs(first)), $lt: new Date(dayStartMs(last + 1)) },
    };
    for (const { find, of } of sourcesOf(graded)) {
      const command = { find, filter: { ...filter, ...of }, projection: { crm_ids: 1 }, hint: byId };
      for await (const segments of readInBatches<Pick<LeadSegment, 'crm_ids'>>(snapshot, command, batchSizes)) {
        for (const { crm_ids: crmIds } of segments) for (const crmId of crmIds) if (crmId !== null) leads.add(crmId);
        if (leads.size > max) return undefined;
      }
    }
  }
  return leads;
}
