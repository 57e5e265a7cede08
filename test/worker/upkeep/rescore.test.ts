import { expect } from 'chai';
import type { ClientSession } from 'mongodb';
import { profiledQueries } from '../../../scripts/bench/console/profiled-queries.js';
import { setModel } from '../../../shared/admin/models/change-models.js';
import { showModel } from '../../../shared/admin/models/read-models.js';
import { createKey, revokeKey, setKey } from '../../../shared/admin/organisations/key-actions.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { dayMs } from '../../../shared/contract/dates.js';
import { callIdGenerator, jobIdOf } from '../../../shared/contract/identifiers.js';
import { createLogger } from '../../../shared/process/logger.js';
import { OrganisationStore } from '../../../shared/store/accounts/organisations.js';
import { inTransaction } from '../../../shared/store/connection/transaction.js';
import { type Job, jobLimits } from '../../../shared/store/jobs/job-documents.js';
import type { Model } from '../../../shared/store/models/models.js';
import { createModel, storeVersion } from '../../../shared/store/models/store-version.js';
import {
  restoreOrganisation,
  withdrawOrganisation,
} from '../../../shared/store/organisations/withdraw-organisation.js';
import { createDueJobs } from '../../../worker/upkeep/rescore.js';
import { type AdminDesk, adminDesk } from '../../support/admin/admin-desk.js';
import { failureOf } from '../../support/failure-of.js';
import { sampleJob } from '../../support/jobs/sample-job.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';

const logger = createLogger('silent', 'test');
const newCallId = callIdGenerator();

describe('jobs of stored leads that the service creates by itself', () => {
  let desk: AdminDesk;
  let nowMs: number;
  let org: string;
  let model: Model;
  let key: string;

  before(async () => {
    desk = await adminDesk({ clock: { now: () => nowMs } });
  });
  after(() => desk.leave());
  beforeEach(async () => {
    nowMs = Date.parse('2027-03-10T15:00:00Z');
    const { database } = desk;
    const fields = { name: 'An organisation', plan: 'pro', policy: 'warn' } as const;
    org = (await new OrganisationStore(database).create(fields, new Date(nowMs)))._id;
    model = await createModel(database, {
      organisationId: org,
      bundle: checkBundle(sampleBundle({ version: '1.0.0' })),
      now: new Date(nowMs),
    });
    key = (await desk.act(createKey, { org_id: org, name: 'Nightly', scopes: ['jobs', 'read'] })).key_id;
  });

  const tick = () => createDueJobs({ database: desk.database, clock: { now: () => nowMs }, logger });
  const set = (when: 'promotion' | 'nightly') =>
    desk.act(setModel, { model_id: model._id, rescore: { when, key_id: key, at_most: 700 } });
  const jobs = () => desk.database.collection<Job>('jobs').find({ org }).sort({ _id: 1 }).toArray();
  const show = async () => (await desk.act(showModel, { model_id: model._id })).rescore;
  const finish = () =>
    desk.database.collection<Job>('jobs').updateMany({ org }, { $set: { state: 'completed', ended_at: new Date() } });
  const serve = async (version: string): Promise<void> => {
    const bundle = checkBundle(sampleBundle({ version }));
    const now = new Date(nowMs);
    await storeVersion({ database: desk.database, organisationId: org, modelId: model._id, bundle, now });
    await desk.act(setModel, { model_id: model._id, version });
  };

  it('are one for each version that comes to score calls, under the key and with its limit', async () => {
    await set('promotion');
    await tick();
    expect(await jobs(), 'for the version at the setting').to.deep.equal([]);
    await serve('2.0.0');
    await Promise.all([tick(), tick()]);
    await tick();
    const [job, ...others] = await jobs();
    expect(others).to.deep.equal([]);
    expect(job).to.deep.include({ state: 'reading', key, bucket: 'live', model: model._id, version: '2.0.0' });
    expect(job?.options).to.deep.include({ stored: { sent_within_days: 90, max_rows: 700 }, stop_at: 'limit' });
    expect(job?.idempotency?.key).to.equal(`rescore:${model._id}:2.0.0`);
    expect(await show()).to.deep.include({ when: 'promotion', key_name: 'Nightly', job_id: job?._id });
  });

  it('are one for each UTC day, from the next one on, and wait for the one before', async () => {
    await set('nightly');
    await tick();
    expect(await jobs()).to.deep.equal([]);
    nowMs = Date.parse('2027-03-11T00:00:10Z');
    await tick();
    nowMs += dayMs;
    await tick();
    expect((await jobs()).map(({ idempotency }) => idempotency?.key)).to.deep.equal([
      `rescore:${model._id}:2027-03-11`,
    ]);
    await finish();
    await tick();
    await tick();
    expect((await jobs()).map(({ idempotency }) => idempotency?.key)).to.deep.equal([
      `rescore:${model._id}:2027-03-11`,
      `rescore:${model._id}:2027-03-12`,
    ]);
  });

  it('are not created while the organisation is to be deleted, and go on when that is taken back', async () => {
    await set('nightly');
    const { database } = desk;
    const at = new Date(nowMs);
    const within = (work: (session: ClientSession) => Promise<unknown>) =>
      inTransaction(database.client, async ({ session }) => void (await work(session)), { timeoutMs: 10_000 });
    const deletion = { organisationId: org, requestedAt: at, by: 'Olga', dueAt: new Date(nowMs + 30 * dayMs) };
    await within((session) => withdrawOrganisation(database, session, deletion));
    nowMs += dayMs;
    await tick();
    expect(await jobs()).to.deep.equal([]);
    await within((session) => restoreOrganisation(database, session, { organisationId: org, at }));
    await tick();
    expect(await jobs()).to.have.length(1);
  });

  it('wait while the organisation has too many unfinished jobs', async () => {
    await set('nightly');
    const unfinished = Array.from({ length: jobLimits.unfinishedJobs }, () =>
      sampleJob({ _id: jobIdOf(newCallId(nowMs, org)), org, state: 'paused' }),
    );
    await desk.database.collection<Job>('jobs').insertMany(unfinished);
    nowMs += dayMs;
    await tick();
    expect(await jobs()).to.have.length(jobLimits.unfinishedJobs);
    await finish();
    await tick();
    expect(await jobs()).to.have.length(jobLimits.unfinishedJobs + 1);
  });

  it('are looked for by an index of the models with such a setting', async () => {
    const queries = await profiledQueries(desk.database, tick);
    const ofModels = queries.filter(({ ns, op }) => op === 'query' && String(ns).endsWith('.models'));
    const plans = ofModels.map(({ planSummary }) => planSummary);
    expect(plans).to.include('IXSCAN { rescore.since: 1 }').and.not.include('COLLSCAN');
  });

  it('go on after a pool died before it noted its job', async () => {
    await set('nightly');
    nowMs += dayMs;
    await tick();
    const [job] = await jobs();
    await desk.database
      .collection<Model>('models')
      .updateOne({ _id: model._id }, { $set: { 'rescore.done_for': '2027-03-10' }, $unset: { 'rescore.job': 1 } });
    await finish();
    await tick();
    expect(await jobs()).to.have.length(1);
    expect((await show())?.job_id).to.equal(job?._id);
  });

  it('end with a reason when the key is revoked, has expired or lost a scope, and begin again by another setting', async () => {
    const changes: readonly (readonly [change: () => Promise<unknown>, reason: string])[] = [
      [() => desk.act(revokeKey, { key_id: key }), 'The key was revoked.'],
      [
        async () => {
          await desk.act(setKey, { key_id: key, expires_at: '2027-03-11T18:00:00Z' });
          nowMs += 6 * 60 * 60_000;
        },
        'The key expired on 2027-03-11 18:00 UTC.',
      ],
      [() => desk.act(setKey, { key_id: key, scopes: ['score', 'jobs'] }), 'The key lacks the scope read.'],
    ];
    for (const [change, reason] of changes) {
      key = (await desk.act(createKey, { org_id: org, name: 'Another' })).key_id;
      await set('nightly');
      await change();
      await tick();
      expect((await show())?.ended?.reason).to.equal(reason);
      nowMs += dayMs;
      await tick();
      expect(await jobs()).to.deep.equal([]);
      expect((await failureOf(set('nightly'))).message).to.include(
        `cannot have the key ${key}: ${reason} Choose another key.`,
      );
    }
    key = (await desk.act(createKey, { org_id: org })).key_id;
    await set('nightly');
    expect(await show()).to.not.have.property('ended');
    nowMs += dayMs;
    await tick();
    expect(await jobs()).to.have.length(1);
  });

  it('are refused to other keys, audited, and end when they are switched off', async () => {
    const test = (await desk.act(createKey, { org_id: org, kind: 'test' })).key_id;
    const tried = async (keyId: string) =>
      (
        await failureOf(
          desk.act(setModel, { model_id: model._id, rescore: { when: 'nightly', key_id: keyId, at_most: 5 } }),
        )
      ).message;
    expect(await tried(test)).to.include('It is a test key');
    expect(await tried('key_none')).to.include('The organisation has no such key.');
    await set('nightly');
    nowMs += 1_000;
    expect(await desk.act(setModel, { model_id: model._id, rescore: null })).to.not.have.property('rescore');
    nowMs += dayMs;
    await tick();
    expect(await jobs()).to.deep.equal([]);
    const [off, on] = (await desk.audit(org)).filter(({ action }) => action === 'model.set');
    expect(on?.after?.rescore).to.include({ when: 'nightly', key_id: key, at_most: 700, by: 'Olga' });
    expect(off?.before?.rescore).to.include({ when: 'nightly' });
    expect(off).to.not.have.property('after');
  });
});
