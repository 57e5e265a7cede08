import type { Db } from 'mongodb';
import { dayMs } from '../../../shared/contract/dates.js';
import { callIdFloor } from '../../../shared/contract/identifiers.js';
import { IdSet } from '../../../shared/files/id-set.js';
import { callIdOf, predictionId, rowOf } from '../../../shared/store/calls/prediction-segment.js';
import { type Job, jobLimits } from '../../../shared/store/jobs/job-documents.js';
import type { StoredLeads } from '../../../shared/store/jobs/job-options.js';
import { endOfStored } from '../../../shared/store/jobs/stored-leads.js';
import { segmentsInOrder } from '../../../shared/store/models/first-scores.js';
import { pageOfIds } from '../../../shared/store/models/segment-pages.js';

/**
 * Finds the newest prediction of each lead that was sent to a model in the days before a job, newest first. Calls that
 * scored stored leads again do not count, so a lead that is no longer sent ages out.
 * @returns the ids of predictions, in slices
 * @throws errors of MongoDB; the reason of the signal
 */
export async function* storedLeads(
  job: Pick<Job, 'org' | 'model' | 'created_at'>,
  { sent_within_days: days, max_rows: maxRows }: StoredLeads,
  { database, signal }: { readonly database: Db; readonly signal: AbortSignal },
): AsyncGenerator<readonly string[]> {
  const { org, model } = job;
  const range = {
    ...{ org, model, columns: [], pageRecords: pageOfIds, newestFirst: true },
    // No call has the floor as its id.
    afterId: callIdFloor(job.created_at.getTime() - days * dayMs, org),
    untilId: endOfStored(job),
  };
  const known = new IdSet();
  let slice: string[] = [];
  let left = maxRows;
  for await (const { _id: segmentId, crm_ids: crmIds } of segmentsInOrder(database, range, { signal })) {
    for (let row = crmIds.length - 1; row >= 0 && left > 0; row -= 1) {
      const crmId = crmIds[row];
      if (typeof crmId !== 'string' || known.has(crmId)) continue;
      slice.push(predictionId(callIdOf(segmentId), rowOf(segmentId) + row));
      left -= 1;
      if (slice.length < jobLimits.rowsPerSlice) continue;
      yield slice;
      slice = [];
    }
    if (left === 0) break;
  }
  if (slice.length > 0) yield slice;
}
