import { expect } from 'chai';
import { childProcessIds } from '../../../scripts/servers/process-usage.js';
import { LatestScores } from '../../../shared/latest-scores/latest-scores.js';
import { createLogger } from '../../../shared/process/logger.js';
import { redisNowMs } from '../../../shared/redis/connect.js';
import { latestScoresKey, rateWindowKey } from '../../../shared/redis/keys.js';
import { ErasureStore, eraseLead, erasingStores } from '../../../shared/store/calls/erasures.js';
import { eraseAgain } from '../../../worker/upkeep/second-erasure.js';
import { eventually } from '../../support/eventually.js';
import { freeze } from '../../support/faults/stall.js';
import { RawConnection } from '../../support/http/raw-connection.js';
import { scored, scoredRow } from '../../support/http/score-reply.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../support/service/workspace.js';

const leaseMs = 30_000;
const scores = '/v1/scores/L-1';
const lead = { company_size: 120, lead_source: 'Referral', crm_id: 'L-1' };

describe('calls in flight during DELETE /v1/scores/{crm_id}', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  }, 'twoGateways');

  const history = async () => JSON.parse((await own.call(scores)).text).scores as { scored_at: string }[];
  const erased = async () => (await own.call(scores, { method: 'DELETE' })).status;

  /** Runs `meanwhile` after `call` has a lease, while all workers are frozen. */
  async function during(call: () => Promise<unknown>, meanwhile: () => Promise<unknown>): Promise<void> {
    const workers = childProcessIds(service.stack.pool.pid);
    await Promise.all(workers.map(freeze));
    try {
      const inFlight = call();
      const leases = `*${own.id}*leases*`;
      await eventually(async () => expect(await service.redis.keys(leases)).to.have.length(1));
      await meanwhile();
      for (const pid of workers) process.kill(pid, 'SIGCONT');
      await inFlight;
    } finally {
      for (const pid of workers) process.kill(pid, 'SIGCONT');
    }
  }

  const storesOfLeads = () => erasingStores(service.stores.database);

  /** Runs the second erasure of the pools as if `afterMs` had passed. */
  async function eraseLater(afterMs = leaseMs): Promise<number> {
    const { database, models } = service.stores;
    const deps = {
      ...storesOfLeads(),
      models,
      latest: new LatestScores(service.redis),
      erasures: new ErasureStore(database),
      logger: createLogger('silent', 'test'),
    };
    return await eraseAgain(deps, { nowMs: (await redisNowMs(service.redis)) + afterMs });
  }

  it('keeps the score of a call in flight until the second erasure after its lease', async () => {
    scored(await own.score([lead]));
    await during(
      async () => scored(await own.score([lead])),
      async () => expect(await erased()).to.equal(204),
    );
    expect(await history()).to.have.length(1);
    expect(scoredRow(await own.score([{ ...lead, company_size: 5 }]))).to.include.keys('previous_score');
    expect(await history()).to.have.length(2);

    await eraseLater(0);
    expect(await history(), 'other calls may still be in flight').to.have.length(2);
    expect(await eraseLater()).to.be.at.least(1);
    expect(await history(), 'the score after the erasure').to.have.length(1);
    const kept = (await own.predictions()).map(({ fields }) => fields ?? null);
    expect(kept.filter((fields) => fields !== null)).to.have.length(1);
    expect(await eraseLater()).to.equal(0);
  });

  it('keeps the score of a call in flight when the erasure returned 404', async () => {
    await during(
      async () => scored(await own.score([lead])),
      async () => expect(await erased()).to.equal(404),
    );
    expect(scoredRow(await own.score([{ crm_id: 'L-1' }]))).to.include({ enriched: true });
    await eraseLater();
    expect(await history(), 'the score after the erasure').to.have.length(1);
  });

  it('stores nothing when the lead is unknown and no call is in flight', async () => {
    expect(await erased()).to.equal(404);
    expect(await service.stores.database.collection('erasures').countDocuments({ org: own.id })).to.equal(0);
  });

  it('erases the score of a call in flight on a gateway whose clock is ahead', async () => {
    const offset = service.clock.now() - Date.now() + 20 * 60_000;
    const { url } = await service.startGateway({ CLOCK_OFFSET_MS: String(offset) });
    scored(await own.score([lead]));
    await during(
      async () => scored(await own.score([lead], { url })),
      async () => expect(await erased()).to.equal(204),
    );
    expect(scoredRow(await own.score([lead]))).to.include.keys('previous_score');
    expect(await eraseLater()).to.be.at.least(1);
    const kept = (await own.predictions()).filter(({ crm_id }) => crm_id !== undefined);
    expect(kept.map(({ at }) => at.getTime() < service.clock.now() + 60_000)).to.deep.equal([true]);
    expect(await service.redis.hgetall(latestScoresKey(own.id))).to.not.have.property('L-1');
  });

  const steps = [
    ['predictions', 'segmentsWith'],
    ['idempotency', 'eraseLead'],
    ['predictions', 'erase'],
    ['daily', 'markStale'],
    ['candidateScores', 'eraseLead'],
    ['outcomes', 'erase'],
  ] as const;
  for (const [store, step] of steps) {
    for (const when of ['before', 'after'] as const) {
      it(`leaves no reply to replay of a call recorded ${when} the step ${store}.${step}`, async () => {
        const headers = { 'idempotency-key': `key of ${own.id}` };
        const explained = () => own.score([{ ...lead, company_size: 5 }], { explain: true, headers });
        scored(await own.score([lead]));
        const stores = storesOfLeads();
        let calls = 0;
        const score = async () => {
          calls += 1;
          if (calls === 1) scored(await explained());
        };
        const work = Reflect.get(stores[store], step) as (...words: unknown[]) => Promise<unknown>;
        Reflect.set(stores[store], step, async (...words: unknown[]) => {
          if (when === 'before') await score();
          const result = await work.apply(stores[store], words);
          if (when === 'after') await score();
          return result;
        });
        const asked = { organisationId: own.id, crmId: 'L-1' };
        expect(await eraseLead(stores, asked)).to.equal(true);
        expect(calls).to.be.at.least(1);
        const atMs = await redisNowMs(service.redis);
        const note = { hash: own.id, atMs, dueMs: atMs + leaseMs, wasKnown: true };
        await new ErasureStore(service.stores.database).add(asked, note);
        expect(await eraseLater()).to.be.at.least(1);
        expect((await own.call(scores)).status).to.equal(404);
        const replayed = scoredRow(await explained());
        expect(replayed).to.not.have.any.keys('crm_id', 'warnings');
        expect(replayed).to.include({ top_reason_1: null }).and.deep.include({ drivers: [] });
      });
    }
  }

  it('erases the scores of a model that the gateway has not cached yet', async () => {
    expect((await own.call(scores, { gateway: 0 })).status).to.equal(404);
    const { _id: modelId } = await own.addModel();
    for (let call = 0; call < 2; call += 1) scored(await own.score([lead], { modelId, gateway: 1 }));
    expect((await own.call(scores, { method: 'DELETE', gateway: 0 })).status).to.equal(204);
    const again = scoredRow(await own.score([lead], { modelId, gateway: 1 }));
    expect(again).to.include({ enriched: false }).and.not.have.property('previous_score');
  });

  it('takes the call that was scored last as the latest, even if its body began to arrive first', async () => {
    const body = JSON.stringify({ model_id: own.model._id, records: [lead] });
    const connection = await RawConnection.open(service.url());
    connection.send(
      `POST /v1/score HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${own.live.secret}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 20)}`,
    );
    // The rate-limit slot is taken before the body is read.
    const slots = rateWindowKey(own.id, own.live.key._id, 'scoring');
    await eventually(async () => expect(await service.redis.zcard(slots)).to.equal(1));
    const quick = scoredRow(await own.score([{ ...lead, company_size: 5 }]));
    connection.send(body.slice(20));
    const slow = scoredRow(await connection.reply());
    connection.socket.destroy();
    expect(slow.previous_score).to.equal(quick.score);
    expect(scoredRow(await own.score([lead])).previous_score)
      .to.equal(slow.score)
      .and.not.equal(quick.score);
    const dates = (await history()).map(({ scored_at }) => scored_at);
    expect(dates).to.deep.equal([...dates].sort().reverse());
  });
});
