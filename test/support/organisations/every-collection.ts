import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { Binary, type Db, type Document, ObjectId } from 'mongodb';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { callIdGenerator, jobIdOf, newId, organisationNumber } from '../../../shared/contract/identifiers.js';
import { requestBundleCheck } from '../../../shared/messages/bundle-check-job.js';
import { requestGrading } from '../../../shared/messages/grading-job.js';
import { turnQueues } from '../../../shared/messages/turn-queue.js';
import { mastersOf } from '../../../shared/redis/connect.js';
import {
  activeCountersKey,
  callKey,
  callsToVoidKey,
  dueCountersKey,
  endedCallsKey,
  latestScoresKey,
  leasesKey,
  modelStrikesKey,
  queuePrefix,
  rateWindowKey,
  rebuildLockKey,
  refusedCallsKey,
  replayClaimKey,
  usageKey,
} from '../../../shared/redis/keys.js';
import { bundleStorage } from '../../../shared/store/models/model-versions.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { sampleJob } from '../jobs/sample-job.js';
import { sampleBundle } from '../models/sample-bundle.js';

/** An organisation with documents in each collection, and keys of each kind in Redis. */
export interface Everywhere {
  readonly id: string;
  /** Texts that occur only in its data: ids, its name, leads, values. */
  readonly marks: readonly string[];
  /** The documents that were stored, by collection; files for `bundles`. */
  readonly stored: Readonly<Record<string, number>>;
}

const newCallId = callIdGenerator();
/** More than a step removes. */
const callCount = 120;
const day = '2026-11-05';

/**
 * Fills every collection and every kind of key.
 * @param id of the organisation. Its calls begin with six characters of it
 */
export async function fillEverywhere(
  { database, redis }: { readonly database: Db; readonly redis: Redis },
  id: string,
): Promise<Everywhere> {
  const at = new Date(Date.UTC(2026, 10, 5));
  const tag = id.slice('org_'.length);
  const [name, lead, value] = [`Name ${tag}`, `LEAD-${tag}`, `value-${tag}`];
  const [keyId, member, session] = [newId('key'), newId('mbr'), newId('ses')];
  const jobId = jobIdOf(newCallId(at.getTime(), id));
  const bundle = checkBundle(sampleBundle({ name }));
  const { _id: model, version } = await createModel(database, { organisationId: id, bundle, now: at });
  const upload = new ObjectId();
  await bundleStorage(database).upload({ id: upload, filename: `uploads/${upload}`, bytes: Buffer.from(value) });
  const hash = `hash-${tag}`;
  const call = () => newCallId(at.getTime(), id);
  const row = { org: id, o: organisationNumber(id), key: keyId, model, version, at };
  const calls = Array.from({ length: callCount }, (_, index) => ({
    ...{ _id: call(), ...row, request_id: `r-${tag}`, bucket: index % 3 === 0 ? 'test' : 'live', records: 2 },
    ...{ month: index < 60 ? '2026-10' : '2026-11', crm_ids: [lead, null], scores: [50, 51], fields: [`["${value}"]`] },
  }));
  const slice = `${jobId}.0000000000`;
  const of: Readonly<Record<string, readonly Document[]>> = {
    orgs: [{ _id: id, name, plan: 'pro', policy: 'warn', created_at: at }],
    api_keys: [{ _id: keyId, hash, organisation_id: id, kind: 'live', name, rate_per_second: 10, created_at: at }],
    calls,
    candidate_scores: [{ _id: `${call()}-${version}`, org: id, model, version, crm_ids: [lead], scores: [1] }],
    candidate_runs: [{ _id: `${model}:${version}`, org: id, model, version, state: 'running', message: value }],
    usage_daily: [{ _id: `${id}:live:${day}`, org: id, bucket: 'live', month: '2026-11', day, records: 5 }],
    call_days: [{ _id: `${id}:${keyId}:${model}:${day}`, org: id, key: keyId, model, day: at, calls: 1, records: 1 }],
    field_days: [
      {
        ...{ _id: `${id}:${model}:${version}:${day}`, org: id, model, version, day, records: 1 },
        ...{ fields: { 0: { values: [{ value, records: 1 }] } }, expires_at: new Date(Date.now() + 1e10) },
      },
    ],
    idempotency: [
      {
        _id: `${id}:live:${value}`,
        body_hash: 'h',
        call_id: call(),
        reply: lead,
        expires_at: new Date(Date.now() + 1e9),
      },
    ],
    outcomes: [0, 1].map((index) => ({
      _id: `${tag}-outcome-${index}`,
      org: id,
      crm_id: `${lead}-${index}`,
      received_at: at,
    })),
    erasures: [
      { _id: `erased-${tag}`, org: id, crm_id: lead, erased_at: new Date(), due_at: new Date(Date.now() + 1e10) },
    ],
    validation_daily: [{ _id: `${model}:${version}:${day}`, graded: `${model}:${version}`, org: id, day: 20_000 }],
    model_validation: [{ _id: `${model}:${version}`, organisation_id: id, state: 'passed', summary: value }],
    audit_log: [
      {
        _id: `0-${tag}`,
        org: id,
        at,
        actor: { name: `Ada ${tag}`, way: 'link' },
        action: 'key.create',
        after: { name },
      },
    ],
    changes: [{ _id: at.getTime() + Math.random(), kind: 'key', id: hash, at: new Date() }],
    console_uploads: [{ _id: upload, org: id, state: 'received', bytes: 1, created_at: new Date(), file: upload }],
    console_members: [{ _id: member, org: id, email: `${tag.toLowerCase()}@example.com`, role: 'admin' }],
    console_links: [{ _id: `link-${tag}`, org: id, person: `Eve ${tag}`, expires_at: new Date(Date.now() + 1e10) }],
    console_sessions: [
      {
        _id: `session-${tag}`,
        session_id: session,
        org: id,
        person: `Ada ${tag}`,
        expires_at: new Date(Date.now() + 1e10),
      },
    ],
    jobs: [sampleJob({ _id: jobId, org: id, key: keyId, model, version, purge_at: new Date(Date.now() + 1e10) })],
    job_slices: [{ _id: slice, rows: 1, first_row: 1, first_line: 1, state: 'pending' }],
    job_blobs: [{ _id: `${slice}.input`, data: new Binary(Buffer.from(value)) }],
    job_uploads: [{ _id: slice, offset: 0, length: value.length, data: new Binary(Buffer.from(value)) }],
    job_locks: [{ _id: id, created: 1 }],
  };
  for (const [collection, documents] of Object.entries(of))
    await database.collection<Document>(collection).insertMany([...documents]);
  await fillRedis(redis, { id, keyId, model, version, jobId, lead, value, upload: String(upload), callId: call() });
  const files = await database.collection('bundles.files').countDocuments({ filename: new RegExp(`^${model}:`) });
  const counts = Object.fromEntries(
    Object.entries(of).map(([collection, documents]) => [collection, documents.length]),
  );
  return {
    id,
    marks: [id, name, lead, value, keyId, member, session, jobId, model, String(upload), hash, tag, tag.toLowerCase()],
    stored: { ...counts, models: 1, model_versions: 1, bundles: files + 1 },
  };
}

interface InRedis {
  readonly id: string;
  readonly keyId: string;
  readonly model: string;
  readonly version: string;
  readonly jobId: string;
  readonly lead: string;
  readonly value: string;
  readonly upload: string;
  readonly callId: string;
}

async function fillRedis(redis: Redis, of: InRedis): Promise<void> {
  const { id, keyId, model, version, jobId, lead, value, upload, callId } = of;
  const counter = { organisationId: id, bucket: 'live', month: '2026-11' } as const;
  await redis.hset(usageKey(counter), 'used', 1);
  await redis.rpush(refusedCallsKey(id), value);
  await redis.zadd(leasesKey(counter), 1, callId);
  await redis.rpush(endedCallsKey(counter), callId);
  await redis.hset(callKey(id, callId), 'state', 1);
  await redis.hset(latestScoresKey(id), lead, value);
  await redis.set(rebuildLockKey(counter), value);
  await redis.zadd(rateWindowKey(id, keyId, 'scoring'), 1, value);
  await redis.set(replayClaimKey(id, 'live', 'digest'), value);
  const member = `${id} live 2026-11`;
  await redis.zadd(activeCountersKey, 1, member);
  await redis.zadd(dueCountersKey, 1, member);
  await redis.hset(callsToVoidKey, callId, member);
  await redis.hset(modelStrikesKey, `${model}:${version}`, '1@1@1');
  await requestGrading(redis, id, 60_000);
  await requestBundleCheck(redis, upload);
  for (const [kind, owner] of [
    ['scoring', jobId],
    ['reading', id],
    ['candidates', model],
  ] as const) {
    const queue = new Queue(turnQueues[kind], { connection: redis, prefix: queuePrefix });
    await queue.add('turn', {}, { jobId: owner });
    await queue.close();
  }
}

/** Everything that a database and a Redis have, by collection or key: each document or member is a line. */
export async function everything(database: Db, redis: Redis): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const { name } of await database.listCollections({}, { nameOnly: true }).toArray()) {
    if (name.startsWith('system.')) continue;
    const documents = await database.collection(name).find().sort({ _id: 1 }).toArray();
    // Bytes of files as text, so that a search finds names in them.
    const plain = (_key: string, value: unknown): unknown =>
      value instanceof Binary ? Buffer.from(value.buffer).toString('latin1') : value;
    texts.set(name, documents.map((document) => JSON.stringify(unwrapped(document), plain)).join('\n'));
  }
  const keys = await Promise.all(mastersOf(redis).map((master) => master.keys('*')));
  for (const key of keys.flat().sort()) texts.set(`redis ${key}`, await textOf(redis, key));
  return texts;
}

/** Documents whose `toJSON` would hide bytes become plain. */
function unwrapped(value: unknown): unknown {
  if (value instanceof Binary) return Buffer.from(value.buffer).toString('latin1');
  if (Array.isArray(value)) return value.map(unwrapped);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, unwrapped(member)]));
}

/** Its members, each in a line. */
async function textOf(redis: Redis, key: string): Promise<string> {
  const read: Readonly<Record<string, () => Promise<readonly unknown[]>>> = {
    string: async () => [await redis.get(key)],
    hash: async () => Object.entries(await redis.hgetall(key)).sort(),
    list: () => redis.lrange(key, 0, '-1'),
    set: async () => (await redis.smembers(key)).sort(),
    zset: () => redis.zrange(key, 0, '-1'),
    stream: () => redis.xrange(key, '-', '+'),
  };
  const members = (await read[await redis.type(key)]?.()) ?? [];
  return members.map((member) => JSON.stringify(member)).join('\n');
}
