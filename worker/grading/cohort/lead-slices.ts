import type { Document } from 'mongodb';
import { callsCollection } from '../../../shared/store/calls-collection.js';
import type { PredictionSlice } from '../../../shared/store/prediction-slice.js';
import { leadIndex } from '../../../shared/store/predictions.js';
import { dayStartMs } from '../../../shared/utc-day.js';
import { blocksOf, idsOfDays } from './scan-requests.js';
import { type GradedVersion, inReplies, type Snapshot } from './snapshot.js';

/** What is read of a slice to tell which of its predictions are the first of their leads. */
export type LeadSlice = Pick<PredictionSlice, '_id' | 'at' | 'crm_ids' | 'scores' | 'likelihoods'>;

/** A reply's fifteen thousand records are decoded within milliseconds; a single record may have a slice to itself. */
const replySize = {
  first: 100,
  most: 1_000,
  records: 15_000,
  recordsOf: (slice: Pick<LeadSlice, 'crm_ids'>): number => slice.crm_ids.length,
};
const find = callsCollection;
const clusteredKey = { _id: 1 } as const;
const leadColumns = { at: 1, crm_ids: 1, scores: 1, likelihoods: 1 } as const;

/** What has no scores is the row of a call of a test key, or one whose predictions have been removed for their age. */
const ofVersion = ({ organisationId, modelId, version }: GradedVersion): Document => ({
  org: organisationId,
  model: modelId,
  version,
  scores: { $exists: true },
});

/**
 * By which way all slices of a version are read: the whole collection as it lies on disk, or the organisation's part of
 * the index of leads, which has an entry for each record.
 */
export type Way = 'collection' | 'index of leads';

/** The quicker way to an organisation's slices. */
export async function wayTo(
  { database }: Snapshot,
  { organisationRecords }: { readonly organisationRecords: number },
): Promise<Way> {
  const slices = await database.collection(find).estimatedDocumentCount();
  // An entry costs about as much as a slice of others that is passed over; and each may lead to a slice of its own.
  return organisationRecords <= slices / 4 ? 'index of leads' : 'collection';
}

/**
 * All slices of a version, some at a time and in no order.
 * @throws what MongoDB says
 */
export const everySlice = (
  snapshot: Snapshot,
  graded: GradedVersion,
  way: Way,
): AsyncGenerator<readonly LeadSlice[]> => {
  const hint = way === 'collection' ? clusteredKey : leadIndex;
  const command = { find, filter: ofVersion(graded), projection: leadColumns, hint };
  return inReplies<LeadSlice>(snapshot, command, replySize);
};

/**
 * The slices of a version in which any of some leads are, some at a time and in no order, by the index of leads.
 * @param crmIds some thousands: they go into one command, of at most 16 MB, and an id may have a kilobyte
 * @throws what MongoDB says
 */
export const slicesOfLeads = (
  snapshot: Snapshot,
  graded: GradedVersion,
  crmIds: readonly string[],
): AsyncGenerator<readonly LeadSlice[]> =>
  inReplies<LeadSlice>(
    snapshot,
    {
      find,
      filter: { ...ofVersion(graded), crm_ids: { $in: crmIds } },
      projection: leadColumns,
      hint: leadIndex,
    },
    replySize,
  );

/**
 * The leads that were scored on some days.
 * @param days ascending numbers of UTC days
 * @returns undefined when they are more than `most`
 * @throws what MongoDB says
 */
export async function leadsOfDays(
  snapshot: Snapshot,
  graded: GradedVersion,
  { days, most }: { readonly days: readonly number[]; readonly most: number },
): Promise<ReadonlySet<string> | undefined> {
  const leads = new Set<string>();
  for (const { first, last } of blocksOf(days)) {
    const filter = {
      ...ofVersion(graded),
      _id: idsOfDays(first, last),
      at: { $gte: new Date(dayStartMs(first)), $lt: new Date(dayStartMs(last + 1)) },
    };
    const command = { find, filter, projection: { crm_ids: 1 }, hint: clusteredKey };
    for await (const slices of inReplies<Pick<LeadSlice, 'crm_ids'>>(snapshot, command, replySize)) {
      for (const { crm_ids: crmIds } of slices)
        for (const crmId of crmIds) if (crmId !== null) leads.add(crmId);
      if (leads.size > most) return undefined;
    }
  }
  return leads;
}
