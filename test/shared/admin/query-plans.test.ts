import { expect } from 'chai';
import { type Document, ObjectId } from 'mongodb';
import { readsOf } from '../../../scripts/bench/console/console-reads.js';
import { profiledQueries } from '../../../scripts/bench/console/profiled-queries.js';
import { actionRoutes } from '../../../shared/admin/actions.js';
import { createOrganisation } from '../../../shared/admin/organisations/change-organisations.js';
import { createKey } from '../../../shared/admin/organisations/key-actions.js';
import { showUsage } from '../../../shared/admin/usage/show-usage.js';
import { showUsageDays } from '../../../shared/admin/usage/usage-of-days.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { dayMs } from '../../../shared/contract/dates.js';
import { callIdGenerator, jobIdOf, organisationNumber } from '../../../shared/contract/identifiers.js';
import { CallDayStore, dayOf } from '../../../shared/store/console/call-days.js';
import { ConsoleAccess, newAccessSecret } from '../../../shared/store/console/console-access.js';
import { MemberStore } from '../../../shared/store/console/members.js';
import { UploadStore } from '../../../shared/store/console/uploads.js';
import { createJob } from '../../../shared/store/jobs/create-job.js';
import type { Job } from '../../../shared/store/jobs/job-documents.js';
import { JobStore } from '../../../shared/store/jobs/jobs.js';
import { ModelStore } from '../../../shared/store/models/models.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { type AdminDesk, adminDesk } from '../../support/admin/admin-desk.js';
import { defaultOptions, sampleJob } from '../../support/jobs/sample-job.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';

const calls = 2_000;
const days = 300;
const daysOfMonth = 31;
const jobs = 10_000;
/** A query of the console reads at most so many more documents or keys than it returns or sums. */
const maxWaste = 200;

describe('the queries of the console', () => {
  let desk: AdminDesk;
  let input: Readonly<Record<string, string>>;

  before(async () => {
    desk = await adminDesk();
    const { database } = desk;
    const newCallId = callIdGenerator();
    const nowMs = Date.now();
    for (const name of ['Other', 'Acme']) {
      const { org_id: org } = await desk.act(createOrganisation, { name, plan: 'pro' });
      const { key_id } = await desk.act(createKey, { org_id: org });
      const bundle = checkBundle(sampleBundle());
      const model = await createModel(database, { organisationId: org, bundle, now: new Date() });
      const candidate = { version: '1.0.0', since: new Date(), by: 'a test' };
      await new ModelStore(database).update(model._id, { candidate });
      const o = organisationNumber(org);
      const documents = Array.from({ length: calls }, (_, index) => {
        const at = new Date(nowMs - index);
        const row = {
          org,
          key: key_id,
          bucket: 'live',
          month: at.toISOString().slice(0, 7),
          records: 1,
          request_id: 'r',
        };
        const segment = {
          crm_ids: [`LEAD-${index % 500}`],
          scores: [5],
          likelihoods: [5],
          fields: ['[]'],
          erased: 0,
          o,
        };
        return {
          _id: newCallId(at.getTime(), org),
          ...row,
          model: model._id,
          version: '1.0.0',
          at,
          arrived_at: at,
          ...segment,
        };
      });
      await database.collection<Document & { _id: string }>('calls').insertMany(documents);
      const base = { org, key: key_id, bucket: 'live' as const, model: model._id, records: 1, latency: { 1: 1 } };
      const begins = Array.from({ length: days }, (_, index) => new Date(dayOf(nowMs).getTime() - index * dayMs));
      await new CallDayStore(database).add(begins.map((day) => ({ ...base, day, calls: 1, last_at: day })));
      const upload = new ObjectId();
      const file = { state: 'received' as const, bytes: 1, created_at: new Date(), file: upload };
      await new UploadStore(database).create({ _id: upload, org, ...file });
      const upload_id = String(upload);
      input = { org_id: org, upload_id, key_id, model_id: model._id, prefix: 'LEAD-1', crm_id: 'LEAD-17', limit: '50' };
    }
  });
  after(() => desk.leave());

  const profiled = (work: () => Promise<unknown>) => profiledQueries(desk.database, work);

  /** The documents of one organisation that a query may sum. A sum of the ledger reads its index alone. */
  function summable({ ns, command, docsExamined = 0 }: Document): number {
    const stages: readonly Document[] = command?.pipeline ?? [];
    if (!stages.some((stage) => '$group' in stage)) return 0;
    if (String(ns).endsWith('.call_days')) return daysOfMonth;
    return docsExamined === 0 ? calls : 0;
  }

  const wasteful = (queries: readonly Document[]): unknown[] =>
    queries
      .filter((query) => {
        const { planSummary, docsExamined = 0, keysExamined = 0, nreturned = 0, nMatched = 0 } = query;
        const waste = Math.max(docsExamined, keysExamined) - nreturned - nMatched - summable(query);
        return String(planSummary).includes('COLLSCAN') || waste > maxWaste;
      })
      .map(({ ns, planSummary, docsExamined, keysExamined, command }) => ({
        ...{ ns, planSummary, docsExamined, keysExamined },
        command: JSON.stringify(command).slice(0, 300),
      }));

  for (const { method, path, action } of actionRoutes) {
    if (method !== 'get') continue;
    it(`answer ${action.name} by indexes, and read little that they do not return`, async () => {
      const names = Object.keys(action.input.properties as object);
      const given: Record<string, unknown> = Object.fromEntries(
        names.flatMap((name) => (name in input ? [[name, input[name]]] : [])),
      );
      if ('limit' in given) given.limit = 50;
      const queries = await profiled(() => desk.act(action, given));
      expect(wasteful(queries), path).to.deep.equal([]);
    });
  }

  it('answer longer times, filters and other inputs by indexes', async () => {
    const { org_id, upload_id, key_id, model_id } = input as Record<string, string>;
    const ids = { organisationId: org_id ?? '', uploadId: upload_id ?? '', keyIds: [key_id ?? ''] };
    const reads = readsOf({ ...ids, modelIds: [model_id ?? ''] }, Date.now());
    const further = reads.filter(({ name, action }) => name !== action.name);
    expect(further.map(({ name }) => name)).to.include.members(['usage.days, 92 days', 'lead.search, a whole id']);
    for (const { name, action, input: given } of further) {
      const queries = await profiled(() => desk.act(action, given));
      expect(wasteful(queries), name).to.deep.equal([]);
    }
  });

  it('are few, however many months and days they show', async () => {
    const org_id = input.org_id ?? '';
    expect(await profiled(() => desk.act(showUsage, { org_id }))).to.have.length.at.most(13);
    const [from, to] = [91, 0].map((ago) => new Date(Date.now() - ago * dayMs).toISOString().slice(0, 10));
    expect(await profiled(() => desk.act(showUsageDays, { org_id, from, to }))).to.have.length.at.most(12);
  });

  it('answer a sign-in and a request by indexes', async () => {
    const access = new ConsoleAccess(desk.database);
    const now = new Date();
    for (let count = 0; count < 300; count += 1)
      await access.begin(newAccessSecret(), { person: 'Ada', role: 'viewer', way: 'link' }, now);
    const queries = await profiled(async () => {
      await access.takeLink('x', now);
      await access.findLink('x', now);
      await access.find('x', now);
      await access.end('x');
      for (const scope of [{ organisation: 'x' }, { members: ['x'] }, { operators: true as const }])
        await access.listSessions(scope, now);
      await access.listSessions({ person: 'Eve', role: 'viewer', org: 'x' }, now);
      await access.endSession('x', { organisation: 'x' });
    });
    expect(queries).to.have.length(9);
    expect(wasteful(queries)).to.deep.equal([]);
  });

  it('find the organisations of a member by indexes', async () => {
    const members = new MemberStore(desk.database);
    const now = new Date();
    let memberId = '';
    for (let count = 0; count < 300; count += 1) {
      const email = `person-${count}@example.com`;
      await members.add({ org: 'org_other', email, role: 'viewer', created_at: now });
      const identity = { iss: 'https://login.example.com', sub: String(count), verifiedEmail: email };
      memberId = (await members.signIn(identity, undefined, now))?._id ?? '';
    }
    const queries = await profiled(async () => {
      await members.ofAccount(memberId, { most: 200 });
      await members.ofAccount(memberId, { organisationId: 'org_other', most: 1 });
    });
    expect(queries).to.have.length(4);
    expect(wasteful(queries)).to.deep.equal([]);
  });

  it('list, page and filter many jobs of an organisation by indexes', async () => {
    const { database } = desk;
    const org = input.org_id ?? '';
    const newCallId = callIdGenerator();
    const nowMs = Date.now();
    const jobOf = (index: number): Job => ({
      ...sampleJob({
        _id: jobIdOf(newCallId(nowMs + index, org)),
        org,
        state: index % 1_000 === 0 ? 'reading' : 'completed',
      }),
      bucket: index % 200 === 0 ? 'test' : 'live',
      options: { ...defaultOptions, name: `leads-${index % 500}.csv`, ...(index % 2 === 0 && { sha256: `s${index}` }) },
      upload: { sha256: `s${index}`, bytes: 1 },
      fingerprint: `f${index}`,
    });
    const documents = Array.from({ length: jobs }, (_, index) => jobOf(index));
    await database.collection<Job>('jobs').insertMany(documents);
    const store = new JobStore(database);
    const found: number[] = [];
    const list = async (bucket: 'live' | 'test', page: object = {}) => {
      found.push((await store.list({ organisationId: org, bucket }, { limit: 50, ...page })).length);
    };
    const half = { before: documents[jobs / 2]?._id };
    const queries = await profiled(async () => {
      await list('live');
      await list('test');
      await list('live', half);
      await list('test', half);
      await list('live', { name: 'leads-7.csv' });
      await list('live', { name: 'leads-7.csv', ...half });
      await list('live', { name: 'absent' });
      await list('live', { sha256: 's4' });
      await list('live', { sha256: 's5' });
      await list('live', { fingerprint: 'f7' });
      expect(await store.readingOf(org)).to.have.length(jobs / 1_000);
      expect(await store.ofTestKeys(org)).to.have.length(jobs / 200);
      expect(await createJob(database, jobOf(1), 20)).to.equal('created');
    });
    expect(found).to.deep.equal([50, 50, 50, 25, 20, 10, 0, 1, 1, 1]);
    expect(queries.filter(({ ns }) => String(ns).endsWith('.jobs'))).to.have.length(13);
    expect(wasteful(queries)).to.deep.equal([]);
    const sums = await profiled(async () => {
      expect(await store.storedBytesBeside({ _id: documents[0]?._id ?? '', org })).to.equal(jobs);
    });
    expect(sums.map(({ docsExamined }) => docsExamined)).to.deep.equal([0]);
  });

  it('would be found by this test if they read the whole collection', async () => {
    const queries = await profiled(() => desk.database.collection('calls').findOne({ request_id: 'none' }));
    expect(wasteful(queries)).to.have.length(1);
  });
});
