import { createOrganisation, setOrganisation } from '../../../../shared/admin/organisations/change-organisations.js';
import { createKey } from '../../../../shared/admin/organisations/key-actions.js';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import { dayMs, dayNumber, monthOf } from '../../../../shared/contract/dates.js';
import { callIdGenerator, jobIdOf } from '../../../../shared/contract/identifiers.js';
import { readingKinds } from '../../../../shared/messages/score-job.js';
import { usageKey } from '../../../../shared/redis/keys.js';
import type { CallDocument } from '../../../../shared/store/calls/call-documents.js';
import { callsCollection } from '../../../../shared/store/calls/prediction-segment.js';
import { CallDayStore, dayOf } from '../../../../shared/store/console/call-days.js';
import { consoleKeyId, createJob } from '../../../../shared/store/jobs/create-job.js';
import { noTotals } from '../../../../shared/store/jobs/job-documents.js';
import { FieldDayStore } from '../../../../shared/store/models/field-days.js';
import type { Model } from '../../../../shared/store/models/models.js';
import { createModel } from '../../../../shared/store/models/store-version.js';
import { defaultOptions, sampleJob } from '../../jobs/sample-job.js';
import { sampleBundle } from '../../models/sample-bundle.js';
import { documentsOfCall } from '../../service/prediction-rows.js';
import type { AdminDesk } from '../admin-desk.js';

/** An organisation with one trouble of each kind that a person can do something about. */
export interface TroubledOrganisation {
  readonly id: string;
  /** Its version has no verdict, and the deploy policy is `block`. On the last day no record had its first field. */
  readonly model: Model;
  readonly jobId: string;
  /** Had no call for sixty days. */
  readonly idleKeyId: string;
}

const recordsOfDay = 50;

/** The trial is over, a model blocked, the limit used to 95 %, a job paused, a field gone, a key idle. */
export async function troubledOrganisation(desk: AdminDesk): Promise<TroubledOrganisation> {
  const nowMs = Date.now();
  const trialEnd = new Date(nowMs - 3 * dayMs).toISOString();
  const organisation = { name: 'Troubled', plan: 'trial', trial_ends_at: trialEnd };
  const { org_id: id } = await desk.act(createOrganisation, organisation);
  await desk.act(setOrganisation, { org_id: id, policy: 'block' });
  const bundle = checkBundle(sampleBundle({ name: 'Expansion' }));
  const model = await createModel(desk.database, { organisationId: id, bundle, now: new Date(nowMs) });
  await recordCall(desk, model, 9_500);
  await useLimit(desk, id, 9_500);
  await dropField(desk, model);
  const jobId = await pauseJob(desk, model);
  const idleKeyId = await addKey(desk, id, { name: 'Old integration', createdDaysAgo: 90, usedDaysAgo: 61 });
  await addKey(desk, id, { name: 'HubSpot', createdDaysAgo: 90, usedDaysAgo: 1 });
  return { id, model, jobId, idleKeyId };
}

/** Sets the records that live keys have used this month. */
export async function useLimit({ redis }: AdminDesk, organisationId: string, used: number): Promise<void> {
  const counter = { organisationId, bucket: 'live', month: monthOf(Date.now()) } as const;
  await redis.hset(usageKey(counter), { used, leased: 0 });
}

/** @returns the id of a key that was created, and used last, so many days ago */
export async function addKey(
  { act, database }: AdminDesk,
  org: string,
  { name, createdDaysAgo, usedDaysAgo }: { name: string; createdDaysAgo: number; usedDaysAgo?: number },
): Promise<string> {
  const { key_id: key } = await act(createKey, { org_id: org, name, kind: 'live' });
  const at = (days: number) => new Date(Date.now() - days * dayMs);
  const keys = database.collection<{ _id: string }>('api_keys');
  await keys.updateOne({ _id: key }, { $set: { created_at: at(createdDaysAgo) } });
  if (usedDaysAgo === undefined) return key;
  const used = at(usedDaysAgo);
  const counted = { org, key, bucket: 'live' as const, model: '', calls: 1, records: 0 };
  await new CallDayStore(database).add([{ ...counted, day: dayOf(used.getTime()), last_at: used }]);
  return key;
}

/** A call of this month. A counter that is restored has its records. */
async function recordCall({ database }: AdminDesk, model: Model, records: number): Promise<void> {
  const at = new Date();
  const { _id: id, organisation_id: org, version } = model;
  const ledger = { bucket: 'live', month: monthOf(at.getTime()), records, model: id, version } as const;
  const call = { ...ledger, _id: callIdGenerator()(at.getTime(), org), org, at };
  await database.collection<CallDocument>(callsCollection).insertMany(documentsOfCall(call));
}

/** All records of yesterday had the first field of the model, and none of today. */
async function dropField({ database }: AdminDesk, { _id: model, organisation_id: org, version }: Model): Promise<void> {
  const nowMs = Date.now();
  const owner = { org, model, version, records: recordsOfDay, values: new Map() };
  const missing = (records: number) => new Map([[0, readingKinds.map((kind) => (kind === 'missing' ? records : 0))]]);
  await new FieldDayStore(database).add([
    { ...owner, day: dayNumber(nowMs) - 1, counts: missing(0) },
    { ...owner, day: dayNumber(nowMs), counts: missing(recordsOfDay) },
  ]);
  const counted = { org, key: 'key_any', bucket: 'live' as const, model, calls: 2, records: 2 * recordsOfDay };
  await new CallDayStore(database).add([{ ...counted, day: dayOf(nowMs), last_at: new Date(nowMs) }]);
}

/** @returns the id of a job that a person paused */
async function pauseJob(
  { database }: AdminDesk,
  { _id: model, organisation_id: org, version }: Model,
): Promise<string> {
  const now = new Date();
  const job = sampleJob({
    ...{ _id: jobIdOf(callIdGenerator()(now.getTime(), org)), org, key: consoleKeyId, person: 'Ada', state: 'paused' },
    ...{ model, version, upload: { length: 2_000_000, complete_at: now } },
    options: { ...defaultOptions, name: 'leads.csv' },
    pause: { reason: 'requested', message: 'The job was paused.' },
    file: {
      shape: { format: 'csv', columns: ['Company Size'], delimiter: ',', crm_id_field: undefined },
      ...{ rows: 20_000, slices: 20, header_line: 'Company Size\n', fields: [] },
    },
    settled: { ...noTotals, rows: 8_000, scored: 8_000 },
    ...{ created_at: now, started_at: now, purge_at: new Date(now.getTime() + 90 * dayMs) },
  });
  await createJob(database, job, 1);
  return job._id;
}
