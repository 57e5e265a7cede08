import { expect } from 'chai';
import { publishChange } from '../../shared/redis/changes.js';
import { rateWindowKey } from '../../shared/redis/keys.js';
import { eventually } from '../support/eventually.js';
import type { HttpReply } from '../support/http/http-call.js';
import { rawCall } from '../support/http/raw-connection.js';
import { refused, type ScoreRow, scored } from '../support/http/score-reply.js';
import { sampleBundle, sampleFeatures } from '../support/models/sample-bundle.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';
import { oddInputs } from './bad-inputs/accepted.js';
import { badMethods, badQueries, noSuchModels, noSuchPlaces } from './bad-inputs/addresses.js';
import type { BadInput, BadInputRig } from './bad-inputs/bad-input.js';
import { badKeys } from './bad-inputs/keys.js';
import { badMembers } from './bad-inputs/members.js';
import { badRecords, overQuota, tooManyRecords } from './bad-inputs/records.js';
import { badSyntax } from './bad-inputs/syntax.js';
import { badWebhooks, refusedWebhooks } from './bad-inputs/webhooks.js';

const tables: Readonly<Record<string, readonly BadInput[]>> = {
  'a key that is not in use': badKeys,
  'what cannot be read': badSyntax,
  'JSON of another shape': badMembers,
  'records that are refused': badRecords,
  'too many records': tooManyRecords,
  'more than the quota holds': overQuota,
  'a model that is not there': noSuchModels,
  'an address at which there is nothing': noSuchPlaces,
  'a method that an address does not take': badMethods,
  'parameters that cannot be read': badQueries,
  'a webhook that cannot be read': badWebhooks,
  'a webhook that is refused': refusedWebhooks,
};

const answerWithinMs = 5_000;
const scoringPath = /^\/v1(?=\/(webhooks\/)?score(\?|$))/;

describe('a bad input gets a clear answer:', () => {
  let rig: BadInputRig;
  let service: RunningService;
  let counted: unknown;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
    rig = await badInputRig(service);
    counted = await books(rig);
  });

  // Checked once for each table: a call that was counted by mistake stays counted.
  const nothingCounted = () =>
    eventually(async () => {
      expect(await books(rig)).to.deep.equal(counted);
    });

  for (const [title, rows] of Object.entries(tables)) {
    describe(title, () => {
      for (const row of rows) {
        it(row.name, async () => {
          const call = row.call(rig);
          await expectClearAnswer(row, () => rawCall(service.url(), call));
          if (!scoringPath.test(call.path)) return;
          const path = call.path.replace(scoringPath, '');
          const reply = await expectClearAnswer(row, () => rawCall(service.url(), { ...call, path }));
          if (!row.as.startsWith('405')) expect(reply.headers.get('deprecation')).to.equal('true');
        });
      }

      it('and nothing of it is counted', nothingCounted);
    });
  }

  describe('an odd input that is good is scored:', () => {
    for (const { name, call, rows } of oddInputs) {
      it(name, async () => {
        const reply = await rawCall(service.url(), call(rig));
        expect(reply.status, reply.text.slice(0, 500)).to.equal(200);
        const answer = JSON.parse(reply.text) as ScoreRow & { readonly scores?: readonly ScoreRow[] };
        const { scores = [answer] } = answer;
        const answered = scores.map(({ score, conversion_likelihood }) => ({ score, conversion_likelihood }));
        expect(answered).to.deep.equal(rows);
      });
    }

    it('and each of its records is counted once', async () => {
      const { own, nearlyExhausted, blocked } = rig;
      const organisations = [own, nearlyExhausted, blocked];
      const live = await Promise.all(organisations.map((organisation) => organisation.ledgerSum()));
      const records = oddInputs.reduce((sum, { rows }) => sum + rows.length, 0);
      // before: 1 of the nearly exhausted; one of the odd calls is a test key's
      expect(live.reduce((sum, count) => sum + count)).to.equal(records + 1 - 1);
      expect(await nearlyExhausted.ledgerSum('test')).to.equal(1000);
      for (const organisation of organisations) await expectBooksAgree(organisation);
    });
  });

  describe('the 11th call within a second', () => {
    /** Fills a second's window with ten calls of that long ago; gives what one more call is answered with. */
    async function oneMore(agoMs: number, path: string): Promise<HttpReply> {
      const { own } = rig;
      const key = await own.addKey('test', { rate: 10 });
      const [seconds = 0, micros = 0] = (await service.redis.time()).map(Number);
      const atUs = 1_000_000 * seconds + micros - 1_000 * agoMs;
      const slots = Array.from({ length: 10 }, (_, slot) => [atUs, `call ${slot}`]).flat();
      await service.redis.zadd(rateWindowKey(own.id, key.key._id, 'scoring'), ...slots);
      return await own.call(path, { key, body: '{' });
    }

    for (const path of ['/v1/score', '/v1/webhooks/score', '/score', '/webhooks/score']) {
      it(`to ${path} is refused, also over the edge of a second, and passes after it`, async () => {
        for (const agoMs of [0, 600]) {
          const reply = await oneMore(agoMs, path);
          const { message } = refused(reply, '429 rate_limited').error;
          expect(message).to.equal('More than 10 calls within a second: slow down and retry.');
          expect(reply.headers.get('retry-after')).to.equal('1');
        }
        refused(await oneMore(1_001, path), '422 bad_request');
      });
    }
  });

  it('a key of a bad checksum is not even looked up', async () => {
    const lookups = async (): Promise<number> => {
      const [index] = await service.stores.database
        .collection('api_keys')
        .aggregate<{ accesses: { ops: unknown } }>([{ $indexStats: {} }, { $match: { 'key.hash': 1 } }])
        .toArray();
      return Number(index?.accesses.ops);
    };
    const before = await lookups();
    for (const row of badKeys.filter(({ says }) => says.test('malformed'))) {
      await rawCall(service.url(), row.call(rig));
    }
    expect(await lookups()).to.equal(before);
    for (const row of badKeys.filter(({ says }) => says.test('unknown'))) {
      await rawCall(service.url(), row.call(rig));
    }
    expect(await lookups()).to.be.above(before);
  });

  it('to HEAD with the status of GET and no body', async () => {
    const headers = { Authorization: `Bearer ${rig.secret}` };
    const statusOf = async (path: string, sent = headers): Promise<string> => {
      const { status, text } = await rawCall(service.url(), { method: 'HEAD', path, headers: sent });
      return `${status} ${text}`;
    };
    expect(await statusOf('/v1/usage')).to.equal('200 ');
    expect(await statusOf('/v1/usage', { Authorization: 'Bearer no' })).to.equal('401 ');
    expect(await statusOf('/v1/score')).to.equal('405 ');
    expect(await statusOf('/v1/scores/unknown')).to.equal('404 ');
    expect(await statusOf('/nothing')).to.equal('404 ');
  });
});

async function expectClearAnswer(row: BadInput, send: () => Promise<HttpReply>): Promise<HttpReply> {
  const startMs = performance.now();
  const reply = await send();
  expect(performance.now() - startMs, 'ms until the answer').to.be.below(answerWithinMs);
  const { message } = refused(reply, row.as).error;
  expect(message).to.match(row.says);
  expect(message.length, 'length of the message').to.be.below(700);
  expect(reply.headers.get('content-type')).to.equal('application/json; charset=utf-8');
  expect(reply.headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/);
  return reply;
}

async function badInputRig(service: RunningService): Promise<BadInputRig> {
  const [size, ...features] = sampleFeatures;
  if (size === undefined) throw new Error('the sample bundle has no features');
  const own = await workspace(service);
  const revoked = await own.addKey('live');
  const strictModel = await own.addModel({
    bundle: sampleBundle({ features: [{ ...size, required: true }, ...features] }),
  });
  const deletedModel = await own.addModel();
  await service.stores.models.update(deletedModel._id, { deleted_at: new Date(service.clock.now()) });
  await service.stores.keys.revoke(revoked.key._id, new Date(service.clock.now()));
  await publishChange(service.redis, { kind: 'key', id: revoked.key.hash });
  const foreign = await workspace(service);
  return {
    own,
    secret: own.live.secret,
    revokedSecret: revoked.secret,
    strictModel,
    deletedModel,
    foreignModel: foreign.model,
    exhausted: await used(service, { live: 2, test: 0 }),
    nearlyExhausted: await used(service, { live: 1, test: 999 }),
    onFree: await workspace(service, { plan: 'free' }),
    blocked: await workspace(service, { policy: 'block', bundle: sampleBundle({ family: 'timing' }) }),
  };
}

/** An organisation with a backstop of 2, and some of it used. */
async function used(
  service: RunningService,
  records: { readonly live: number; readonly test: number },
): Promise<TestWorkspace> {
  const own = await workspace(service, { limit: 1 });
  for (const kind of ['live', 'test'] as const) {
    if (records[kind] === 0) continue;
    const leads = Array.from({ length: records[kind] }, () => ({ company_size: 1 }));
    scored(await own.score(leads, { key: own[kind] }));
  }
  return own;
}

/** What is counted and kept of the rig's organisations. */
async function books({ own, exhausted, nearlyExhausted, onFree }: BadInputRig): Promise<unknown> {
  return Promise.all(
    [own, exhausted, nearlyExhausted, onFree].map(async (organisation) => ({
      ledger: await organisation.ledgerSum(),
      test: await organisation.ledgerSum('test'),
      redis: await organisation.redisUsage(),
      redisTest: await organisation.redisUsage('test'),
      predictions: (await organisation.predictions()).length,
    })),
  );
}

/** What Redis counts is what the ledger says, and nothing is held any more. */
async function expectBooksAgree(organisation: TestWorkspace): Promise<void> {
  for (const bucket of ['live', 'test'] as const) {
    await eventually(async () => {
      const used = await organisation.ledgerSum(bucket);
      expect(await organisation.redisUsage(bucket)).to.deep.equal({ used, leased: 0 });
    });
  }
}
