import { ObjectId } from 'mongodb';
import { defaultKeyBrand } from '../../../shared/config/config.js';
import { dayMs } from '../../../shared/contract/dates.js';
import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import { addRefusedCalls, mostRefusedCalls } from '../../../shared/messages/refused-calls.js';
import type { Redis } from '../../../shared/redis/connect.js';
import { ApiKeyStore } from '../../../shared/store/accounts/api-keys.js';
import { OrganisationStore } from '../../../shared/store/accounts/organisations.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { AuditLog } from '../../../shared/store/console/audit-log.js';
import { ConsoleAccess, newAccessSecret } from '../../../shared/store/console/console-access.js';
import { MemberStore } from '../../../shared/store/console/members.js';
import { UploadStore } from '../../../shared/store/console/uploads.js';
import type { Job } from '../../../shared/store/jobs/job-documents.js';
import { jobDocument } from '../../../shared/store/jobs/new-job.js';
import { ModelStore } from '../../../shared/store/models/models.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { unreachedLimit } from '../../load/load-organisation.js';
import { fleetBundle } from '../fleet/fleet-accounts.js';

export interface ConsoleOrganisation {
  readonly organisationId: string;
  readonly keyIds: readonly string[];
  readonly testKeyId: string;
  /** The first keys score by the first models. */
  readonly modelIds: readonly string[];
  /** An upload that was received. */
  readonly uploadId: string;
  readonly version: string;
}

export const pepper = 'pepper-of-the-console-benchmark';
const counts = { keys: 8, models: 6, others: 300, members: 200, sessions: 200, jobs: 2_000, audit: 20_000 };
const people = ['Ada', 'Ben', 'Cleo', 'Dara', 'Emil'];
const audited = ['key.create', 'model.set', 'org.set', 'lead.show', 'lead.search', 'session.begin'];
const auditAtOnce = 200;

/** Creates an organisation with its keys, models, people, jobs and audit log, and others beside it. */
export async function writeOrganisation(
  database: Db,
  redis: Redis,
  { bundlePath, endMs, days }: { readonly bundlePath: string; readonly endMs: number; readonly days: number },
): Promise<ConsoleOrganisation> {
  const [now, began] = [new Date(endMs), new Date(endMs - days * dayMs)];
  const organisations = new OrganisationStore(database);
  const fields = { plan: 'enterprise', policy: 'warn', limit: unreachedLimit } as const;
  for (let other = 0; other < counts.others; other += 1)
    await organisations.create({ ...fields, name: `Other ${other}` }, began);
  const { _id: organisationId } = await organisations.create({ ...fields, name: 'Acme' }, began);
  const keys = new ApiKeyStore(database);
  const key = { ratePerSecond: 100, brand: defaultKeyBrand, organisationId, pepper, now: began } as const;
  const made = [];
  for (let index = 0; index < counts.keys; index += 1)
    made.push((await keys.create({ ...key, kind: 'live', name: `CRM ${index}` })).key);
  const { key: testKey } = await keys.create({ ...key, kind: 'test', name: 'Sandbox' });
  const bundle = await fleetBundle(bundlePath);
  const models = [];
  for (let index = 0; index < counts.models; index += 1)
    models.push(await createModel(database, { organisationId, bundle, now: began }));
  const store = new ModelStore(database);
  for (const { _id } of models) await store.update(_id, { live_api: true });
  const [model, apiKey] = [models[0], made[0]];
  if (model === undefined || apiKey === undefined) throw new Error('the organisation has no model or no key');
  const candidate = { version: model.version, since: now, by: 'the benchmark' };
  await store.update(model._id, { candidate });
  await writePeople(database, organisationId, now);
  await writeAudit(database, organisationId, { endMs, days, targets: [apiKey._id, model._id] });
  const newCallId = callIdGenerator();
  const options = { format: 'csv', include_input: false, explain: false, stop_at: 'limit', max_errors: 100 } as const;
  const jobs = Array.from({ length: counts.jobs }, (_, index): Job => {
    const atMs = endMs - (counts.jobs - index) * 60_000;
    const named = { ...options, previous: true, name: `leads-${index % 500}.csv` };
    const created = { callId: newCallId(atMs, organisationId), apiKey, atMs, model: model._id };
    return { ...jobDocument({ ...created, version: model.version, options: named }), state: 'completed' };
  });
  await database.collection<Job>('jobs').insertMany(jobs);
  const refused = { keyId: apiKey._id, code: 'rate_limited', status: 429, route: 'POST /v1/score' };
  const refusedCalls = Array.from({ length: mostRefusedCalls }, (_, index) => ({
    ...{ ...refused, atMs: endMs - index * 60_000, requestId: `req_${index}` },
  }));
  await addRefusedCalls(redis, organisationId, refusedCalls);
  const upload = { _id: new ObjectId(), org: organisationId, state: 'received', bytes: 1, created_at: now } as const;
  await new UploadStore(database).create({ ...upload, file: new ObjectId() });
  return {
    ...{ organisationId, uploadId: String(upload._id), testKeyId: testKey._id, version: model.version },
    keyIds: made.map(({ _id }) => _id),
    modelIds: models.map(({ _id }) => _id),
  };
}

async function writePeople(database: Db, org: string, now: Date): Promise<void> {
  const [members, access] = [new MemberStore(database), new ConsoleAccess(database)];
  for (let index = 0; index < counts.members; index += 1)
    await members.add({ org, email: `person-${index}@example.com`, role: 'viewer', created_at: now });
  for (let index = 0; index < counts.sessions; index += 1)
    await access.begin(newAccessSecret(), { person: `Person ${index}`, role: 'admin', org, way: 'link' }, now);
}

async function writeAudit(
  database: Db,
  org: string,
  of: { readonly endMs: number; readonly days: number; readonly targets: readonly string[] },
): Promise<void> {
  const log = new AuditLog(database);
  const entryOf = (index: number) => ({
    ...{ org, request_id: `req_${index}`, action: audited[index % audited.length] ?? '' },
    at: new Date(of.endMs - Math.round((index / counts.audit) * of.days * dayMs)),
    actor: { name: people[index % people.length] ?? '', way: 'link' as const },
    target: of.targets[index % of.targets.length] ?? '',
    after: { name: `Changed ${index}` },
  });
  for (let from = 0; from < counts.audit; from += auditAtOnce)
    await Promise.all(Array.from({ length: auditAtOnce }, (_, index) => log.append(entryOf(from + index), undefined)));
}
