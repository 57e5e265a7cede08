import { expect } from 'chai';
import { monthOf } from '../../../../shared/contract/dates.js';
import { callIdGenerator } from '../../../../shared/contract/identifiers.js';
import { invalidateSettled } from '../../../../shared/latest-scores/eviction.js';
import { LatestScores } from '../../../../shared/latest-scores/latest-scores.js';
import { memberOf } from '../../../../shared/quota/leases.js';
import { Quota } from '../../../../shared/quota/quota.js';
import { sweepLeases } from '../../../../shared/quota/sweep.js';
import { redisNowMs } from '../../../../shared/redis/connect.js';
import { dueCountersKey, latestScoresKey } from '../../../../shared/redis/keys.js';
import { callDocuments } from '../../../../shared/store/calls/call-documents.js';
import { segmentsOf } from '../../../../shared/store/calls/prediction-segment.js';
import { eventually } from '../../../support/eventually.js';
import { refused, scored, scoredRow } from '../../../support/http/score-reply.js';
import { sampleAnswer } from '../../../support/models/sample-answer.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';
import type { RunningService } from '../../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../../support/service/workspace.js';

const large = { company_size: 150, demo_requested: true, lead_source: 'Referral' };
const small = { company_size: 5, demo_requested: false, lead_source: 'Fair' };

describe('latest scores of a lead', () => {
  let service: RunningService;
  let own: TestWorkspace;
  const key = () => latestScoresKey(own.id);
  const leadsInRedis = async () =>
    (await service.redis.hkeys(key())).filter((name) => name !== '' && !name.startsWith('\0'));

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  });

  it('stores the latest score in Redis before the reply', async () => {
    const { score } = scoredRow(await own.score([{ ...large, crm_id: 'L-1' }]));
    const [prediction] = await own.predictions();
    const latest = new LatestScores(service.redis);
    const ofModel = { organisationId: own.id, modelId: own.model._id, version: own.model.version };
    const { leads } = await latest.read({ ...ofModel, crmIds: ['L-1'] });
    expect(leads).to.deep.equal([{ latestId: prediction?._id, own: { id: prediction?._id, score }, gaps: 0 }]);
  });

  it('stores no lead of a refused call or of a test key in Redis', async () => {
    const leads = Array.from({ length: 300 }, (_, row) => ({ ...large, crm_id: `L-${row}` }));
    refused(await own.score([...leads, { company_size: {}, crm_id: 'L-bad' }]), '400 bad_request');
    scored(await own.score(leads, { key: own.test }));
    expect(await leadsInRedis()).to.deep.equal([]);
    scored(await own.score(leads));
    expect(await leadsInRedis()).to.have.length(300);
  });

  it('reads the latest scores from MongoDB after Redis lost them, for known and unknown leads in one call', async () => {
    const records = Array.from({ length: 300 }, (_, row) => ({ ...large, crm_id: `L-${row}` }));
    scored(await own.score(records));
    await service.redis.unlink(key());
    for (const from of ['MongoDB', 'Redis again']) {
      const { scores } = scored(await own.score([...records, { ...small, crm_id: `new, ${from}` }]));
      expect(scores.map((row) => row.previous_score)).to.deep.equal([
        ...records.map(() => sampleAnswer(large).score),
        undefined,
      ]);
      expect(scores.filter((row) => row.enriched)).to.have.length(300);
    }
  });

  it('returns the latest score under the same model, and the fields of the latest under any', async () => {
    const others = [await own.addModel(), await own.addModel(), await own.addModel()];
    await own.score([{ ...large, crm_id: 'L-1' }]);
    for (const { _id: modelId } of others) await own.score([{ ...small, crm_id: 'L-1' }], { modelId });
    for (const _from of ['Redis, which keeps three models of a lead', 'MongoDB']) {
      const row = scoredRow(await own.score([{ crm_id: 'L-1' }]));
      expect(row).to.include({ ...sampleAnswer(small), enriched: true });
      await service.redis.unlink(key());
    }
    const { scores } = JSON.parse((await own.call(`/v1/scores/L-1?model_id=${own.model._id}`)).text);
    expect(scores.map(({ score }: { readonly score: number }) => score)).to.deep.equal(
      [small, small, large].map((lead) => sampleAnswer(lead).score),
    );
  });

  it('returns previous_score of the same model only', async () => {
    const other = await own.addModel({ bundle: sampleBundle({ name: 'Another score' }) });
    await own.score([{ ...large, crm_id: 'L-1' }]);
    const first = scoredRow(await own.score([{ ...small, crm_id: 'L-1' }], { modelId: other._id }));
    expect(first).to.include({ enriched: true }).and.not.have.property('previous_score');
    await service.redis.unlink(key());
    const row = scoredRow(await own.score([{ crm_id: 'L-1' }]));
    expect(row).to.include({ ...sampleAnswer(small), previous_score: sampleAnswer(large).score });
  });

  it('fills in the fields of the right record from any position of its call', async () => {
    const records = Array.from({ length: 260 }, (_, row) => ({
      ...large,
      company_size: row,
      crm_id: `L-${row}`,
    }));
    await own.score(records);
    const asked = [0, 99, 100, 107, 249, 250, 259];
    const { scores } = scored(await own.score(asked.map((row) => ({ crm_id: `L-${row}` }))));
    expect(scores.map(({ score }) => score)).to.deep.equal(
      asked.map((row) => sampleAnswer({ ...large, company_size: row }).score),
    );
  });

  it('returns the score of a call that the sweep settled as previous_score', async () => {
    await own.score([{ ...small, crm_id: 'L-1' }]);
    const nowMs = service.clock.now();
    const callId = callIdGenerator()(nowMs, own.id);
    const { ledger, calls } = service.stores;
    const quota = new Quota({ redis: service.redis, ledger, leaseMs: 1, clock: service.clock });
    const call = { org: own.id, model: own.model._id, version: own.model.version, at: new Date(nowMs) };
    const counted = { key: own.live.key._id, bucket: 'live', month: monthOf(nowMs), records: 1 } as const;
    const columns = { crmIds: ['L-1'], scores: [77], likelihoods: [1], fields: ['[]'] };
    const row = { ...call, ...counted, _id: callId, request_id: callId };
    await calls.insertMany(callDocuments(row, segmentsOf({ ...call, ...columns, callId })));
    const deadlineRedisMs = (await redisNowMs(service.redis)) + 5_000;
    await quota.reserve({ counter: own.counter(), callId, records: 1, stop: 1_000, deadlineRedisMs });
    const latest = new LatestScores(service.redis);
    const beforeSettling = invalidateSettled(latest);
    await eventually(async () => {
      // The pool's own sweep may have visited the counter just before. Its next visit is due a longer lease later.
      await service.redis.zadd(dueCountersKey, 0, memberOf(own.counter()));
      await sweepLeases({ redis: service.redis, quota, ledger, beforeSettling });
      expect((await quota.usage(own.counter())).used).to.equal(2);
    });
    expect(scoredRow(await own.score([{ ...small, crm_id: 'L-1' }])).previous_score).to.equal(77);
  });

  it('returns no previous_score after an erasure, and one after the next score', async () => {
    await own.score([
      { ...large, crm_id: 'L-1' },
      { ...large, crm_id: 'L-2' },
    ]);
    expect((await own.call('/v1/scores/L-1', { method: 'DELETE' })).status).to.equal(204);
    const { scores } = scored(await own.score([{ ...small, crm_id: 'L-1' }, { crm_id: 'L-2' }]));
    expect(scores.map((row) => row.enriched)).to.deep.equal([false, true]);
    expect(scoredRow(await own.score([{ crm_id: 'L-1' }]))).to.include({
      ...sampleAnswer(small),
      previous_score: sampleAnswer(small).score,
    });
  });
});
