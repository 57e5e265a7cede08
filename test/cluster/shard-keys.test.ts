import { expect } from 'chai';
import type { Document } from 'mongodb';
import { dayMs } from '../../shared/contract/dates.js';
import { callIdGenerator, newId } from '../../shared/contract/identifiers.js';
import { LatestScores } from '../../shared/latest-scores/latest-scores.js';
import { ErasureStore, erasingStores } from '../../shared/store/calls/erasures.js';
import { IdempotencyStore } from '../../shared/store/calls/idempotency.js';
import { PredictionStore } from '../../shared/store/calls/predictions.js';
import { UsageLedger } from '../../shared/store/calls/usage-ledger.js';
import { voidCall } from '../../shared/store/calls/void-call.js';
import { connectMongo, type Mongo } from '../../shared/store/connection/connect.js';
import { SliceStore } from '../../shared/store/jobs/job-slices.js';
import { CandidateScoreStore } from '../../shared/store/models/candidate-scores.js';
import { FieldDayStore } from '../../shared/store/models/field-days.js';
import { dueVersions } from '../../worker/grading/job/due-versions.js';
import { gradeVersion } from '../../worker/grading/job/grade-version.js';
import { removeUnscoredOutcomes } from '../../worker/upkeep/outcome-retention.js';
import { removeOldPredictions, retentionTimings } from '../../worker/upkeep/retention.js';
import { eraseAgain } from '../../worker/upkeep/second-erasure.js';
import { eventually } from '../support/eventually.js';
import { holdAndDie } from '../support/faults/abandoned-lease.js';
import { BulkJob } from '../support/jobs/bulk-job.js';
import { testServers } from '../support/service/servers.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { namesItsShard, profile, type ShardedQuery, shardedQueries } from '../support/service/shard-keys.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';

/** Queries that go to every shard, each with the reason. */
const exceptions: Readonly<Record<string, (query: ShardedQuery) => boolean>> = {
  'retention finds the next organisation, once a day each': ({ collection, command }) =>
    command.limit === 1 && (collection === 'outcomes' ? hasOnly(command.filter, 'org') : command.filter?.org?.$exists),
  'the grader finds when the outcomes of each organisation last changed, in one read': ({ collection, filter }) =>
    collection === 'outcomes' && Object.keys(filter).length === 0,
  'the grader estimates the size of the collection, from metadata': ({ command }) => command.count !== undefined,
};

const hasOnly = (filter: Document, field: string): boolean => Object.keys(filter).join() === field;

describe('queries on collections that can be sharded', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let other: TestWorkspace;
  let mongo: Mongo;
  let queries: readonly ShardedQuery[];

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService({ gateways: 1, withRunner: true });
    const url = new URL((await testServers()).mongoUrl);
    url.pathname = `/${service.stores.database.databaseName}`;
    mongo = await connectMongo(url.href, { name: 'leadscore-in-test' });
    [own, other] = [await workspace(service), await workspace(service)];
    await profile(mongo.database);
    await callEndpoints();
    await runJobs();
    await callStores();
    queries = await shardedQueries(mongo.database);
  });
  after(async () => {
    await mongo.client.close();
    await service.stop();
  });

  const records = (count: number, from = 0) =>
    Array.from({ length: count }, (_, row) => ({ company_size: 10 + row, crm_id: `L-${from + row}` }));

  async function callEndpoints(): Promise<void> {
    const keyed = { headers: { 'Idempotency-Key': 'one' } };
    for (const one of [own, other]) {
      await one.score(records(3));
      await one.score(records(250));
      await one.score(records(5, 300), keyed);
      await one.score(records(5, 300), keyed);
    }
    const abandoned = await holdAndDie(own, 5);
    const isFenced = async () =>
      expect(await service.stores.ledgerRows.findOne({ _id: abandoned })).to.have.property('voided_at');
    await eventually(isFenced, 30_000);
    await service.redis.flushall();
    await own.score(records(2));
    await own.score([{ crm_id: 'L-1' }, { company_size: 5, crm_id: 'new' }]);
    const outcomes = [0, 1, 400].map((lead) => ({ crm_id: `L-${lead}`, converted: true, at: '2026-01-10' }));
    await own.call('/v1/outcomes', { body: { outcomes } });
    await own.call('/v1/scores/L-1');
    await own.call(`/v1/scores/L-2?model_id=${own.model._id}&limit=10`);
    await own.call('/v1/scores/L-2', { method: 'DELETE' });
    await own.call('/v1/usage');
    await own.call(`/v1/models/${own.model._id}/coverage`);
  }

  /** A whole job of each kind of key; results, an erasure, a cancellation and the removal. */
  async function runJobs(): Promise<void> {
    const file = `crm_id,company_size\n${Array.from({ length: 1_200 }, (_, row) => `J-${row},${row}\n`).join('')}x,y,z\n`;
    const job = await BulkJob.create(own, file);
    const ofTests = await BulkJob.create(own, 'crm_id,company_size\nJ-1,5\n', { bucket: 'test' });
    await job.until('completed');
    await ofTests.until('completed');
    for (const name of ['results', 'errors']) await own.call(`/v1/jobs/${job.id}/${name}`);
    await own.call('/v1/scores/J-1', { method: 'DELETE' });
    const reply = await own.call('/v1/jobs', { body: { model_id: own.model._id } });
    const { job_id: awaiting } = JSON.parse(reply.text) as { readonly job_id: string };
    await own.call(`/v1/jobs/${awaiting}/input`, { method: 'HEAD' });
    await own.call(`/v1/jobs/${awaiting}/cancel`, { method: 'POST', body: {} });
    expect((await own.call(`/v1/jobs/${job.id}`, { method: 'DELETE' })).status).to.equal(204);
  }

  async function callStores(): Promise<void> {
    const { client, database } = mongo;
    const ledger = new UsageLedger(database);
    const idempotency = new IdempotencyStore(database);
    const predictions = new PredictionStore(database);
    const erasures = new ErasureStore(database);
    const nowMs = service.clock.now();
    const newCallId = callIdGenerator();
    const callIds = [own, other, own].map(({ id }) => newCallId(nowMs, id));
    const fieldDays = new FieldDayStore(database);
    const version = { org: own.id, model: newId('mdl'), version: '1' };
    const values = new Map([[0, new Map([['SaaS', 1]])]]);
    await fieldDays.add([{ ...version, day: 20_000, records: 1, counts: new Map(), values }]);
    await fieldDays.removeModel(version);
    const counter = own.counter();
    await ledger.sum(counter);
    await ledger.snapshot(counter, { recentMs: 1_000, nowMs });
    await new UsageLedger(database, { now: () => nowMs + 70 * dayMs }).advanceRollup(counter);
    await ledger.fenceCalls(callIds);
    const slices = new SliceStore(database);
    await voidCall(
      { organisationId: own.id, callId: newCallId(nowMs, own.id) },
      { client, ledger, idempotency, slices },
    );
    const graded = { organisationId: own.id, modelId: own.model._id, version: own.model.version };
    for (const asOfMs of [nowMs, nowMs + 100 * dayMs, nowMs])
      await gradeVersion({ database, ...graded, facts: undefined, asOfMs, nowMs, rebuild: asOfMs > nowMs });
    await dueVersions(database, { now: () => nowMs + dayMs });
    const candidates = new CandidateScoreStore(database);
    await candidates.removeVersion({ org: own.id, model: own.model._id, version: '2' });
    const lead = { organisationId: own.id, crmId: 'L-1' };
    await erasures.add(lead, { hash: 'hash', atMs: nowMs, dueMs: nowMs, wasKnown: true });
    const logger = { warn: () => undefined };
    const latest = new LatestScores(service.redis);
    await eraseAgain({ ...erasingStores(database), erasures, latest, logger }, { nowMs: nowMs + dayMs });
    const later = { database, redis: service.redis, nowMs: nowMs + 400 * dayMs, retentionDays: 30 };
    await removeOldPredictions({ ...later, timings: retentionTimings });
    await removeUnscoredOutcomes(later);
    expect(await predictions.knows(own.id, 'L-3'), 'after retention').to.equal(false);
    expect(await predictions.knows(newId('org'), 'L-3')).to.equal(false);
  }

  it('name one shard each, with listed exceptions', () => {
    const known = (query: ShardedQuery) => Object.values(exceptions).some((matches) => matches(query) === true);
    const breaches = queries.filter((query) => !namesItsShard(query) && !known(query));
    expect(breaches.map(({ command }) => JSON.stringify(command))).to.deep.equal([]);
    for (const [name, matches] of Object.entries(exceptions))
      expect(
        queries.some((query) => !namesItsShard(query) && matches(query)),
        name,
      ).to.equal(true);
  });

  it('cover every sharded collection and kind of command', () => {
    const seen = new Set(
      queries.map(({ collection, command }) => `${Object.keys(command).find(isKind) ?? 'update'} ${collection}`),
    );
    expect([...seen]).to.include.members([
      'find calls',
      'aggregate calls',
      'findAndModify calls',
      'find candidate_scores',
      'find idempotency',
      'find outcomes',
      'find usage_daily',
      'find field_days',
      'update field_days',
      'find job_slices',
      'find job_blobs',
      'find job_uploads',
      'update job_slices',
      'update job_blobs',
      'update job_uploads',
    ]);
    expect(queries.length).to.be.above(40);
  });

  it('use an index or a range of the clustered key, and never read a whole collection', () => {
    const whole = queries.filter(
      ({ planSummary, filter }) => planSummary.includes('COLLSCAN') && filter._id === undefined,
    );
    expect(whole.map(({ command }) => JSON.stringify(command))).to.deep.equal([]);
  });
});

const kinds = new Set(['find', 'aggregate', 'findAndModify', 'count', 'distinct']);
const isKind = (name: string): boolean => kinds.has(name);
