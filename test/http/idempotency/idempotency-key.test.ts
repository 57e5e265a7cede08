import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import type { HttpReply } from '../../support/http/http-call.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../support/service/service.js';
import { onOwnWorkspace, type ScoreOptions, type TestWorkspace, workspace } from '../../support/service/workspace.js';

const lead = { company_size: 120, crm_id: 'L-1' };
const dayMs = 24 * 60 * 60 * 1000;

const isReplay = (reply: HttpReply): boolean => {
  const header = reply.headers.get('idempotent-replayed');
  expect(header).to.be.oneOf([null, 'true']);
  return header === 'true';
};

describe('Idempotency-Key of POST /v1/score', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let idempotencyKey: string;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
    idempotencyKey = randomUUID();
  }, 'twoGateways');

  const keyed = (options: ScoreOptions = {}): ScoreOptions => ({
    ...options,
    headers: { 'idempotency-key': idempotencyKey },
  });

  it('replays the first reply byte for byte with Idempotent-Replayed, and counts nothing', async () => {
    const first = await own.score([lead], keyed());
    expect(isReplay(first)).to.equal(false);
    scored(await own.score([{ ...lead, company_size: 5 }])); // changes usage and the latest prediction
    for (const gateway of [0, 1]) {
      const again = await own.score([lead], keyed({ gateway }));
      expect(isReplay(again)).to.equal(true);
      expect(again.text).to.equal(first.text);
      expect(again.status).to.equal(200);
      expect(again.headers.get('content-type')).to.equal(first.headers.get('content-type'));
      expect(again.headers.get('x-request-id')).to.not.equal(first.headers.get('x-request-id'));
    }
    expect(await own.ledgerSum()).to.equal(2);
    expect(await own.redisUsage()).to.deep.equal({ used: 2, leased: 0 });
    expect(await own.predictions()).to.have.length(2);
  });

  it('replays the version that scored, after another version has become the current one', async () => {
    const first = await own.score([lead], keyed());
    expect(scored(first).model_version).to.equal('1.0.0');
    await own.addVersion(sampleBundle({ version: '2.0.0' }));
    await eventually(async () => expect(scored(await own.score([lead])).model_version).to.equal('2.0.0'));
    const again = await own.score([lead], keyed());
    expect([isReplay(again), again.text]).to.deep.equal([true, first.text]);
  });

  it('replays the sent usage after many concurrent calls', async () => {
    const keys = Array.from({ length: 30 }, () => randomUUID());
    const send = () => Promise.all(keys.map((key) => own.score([lead], { headers: { 'idempotency-key': key } })));
    const first = await send();
    const again = await send();
    expect(again.map(isReplay)).to.not.include(false);
    expect(again.map((reply) => reply.text)).to.deep.equal(first.map((reply) => reply.text));
    const currents = first.map((reply) => scored(reply).usage.current);
    expect(currents).to.have.members(keys.map((_, index) => index + 1));
    expect(await own.ledgerSum()).to.equal(keys.length);
  });

  it('returns 422 for another body, counts nothing, and keeps the first reply', async () => {
    const first = await own.score([lead], keyed());
    for (const body of [[{ ...lead, company_size: 121 }], [lead, lead]])
      expect(refused(await own.score(body, keyed()), '422 bad_request').error.message).to.include('Idempotency-Key');
    const again = await own.score([lead], keyed());
    expect([isReplay(again), again.text]).to.deep.equal([true, first.text]);
    expect(await own.ledgerSum()).to.equal(1);
  });

  it('frees the key after a call that failed with 400, 404 or 422', async () => {
    refused(await own.post('{', keyed()), '422 bad_request');
    refused(await own.score([], keyed()), '400 bad_request');
    refused(await own.score([lead], keyed({ modelId: 'mdl_unknown' })), '404 model_not_found');
    refused(await own.score([{ company_size: {} }], keyed()), '400 bad_request');
    const first = await own.score([lead], keyed());
    scored(first);
    expect(isReplay(first)).to.equal(false);
    expect(await own.ledgerSum()).to.equal(1);
  });

  it('frees the key after a call that returned 429 quota_exceeded', async () => {
    const small = await workspace(service, { limit: 0 });
    refused(await small.score([lead], keyed({ gateway: 0 })), '429 quota_exceeded');
    await small.change({ limit: 1 });
    const reply = await eventually(async () => {
      const later = await small.score([lead], keyed({ gateway: 0 }));
      scored(later);
      return later;
    });
    expect(isReplay(reply)).to.equal(false);
  });

  it('replays a reply after the quota is exhausted', async () => {
    const small = await workspace(service, { limit: 1 });
    const first = await small.score([lead, lead], keyed());
    refused(await small.score([lead]), '429 quota_exceeded');
    const again = await small.score([lead, lead], keyed());
    expect([isReplay(again), again.text]).to.deep.equal([true, first.text]);
  });

  it('counts one of ten concurrent calls, and returns its reply to all', async () => {
    const replies = await Promise.all(Array.from({ length: 10 }, () => own.score([lead, lead], keyed())));
    expect(new Set(replies.map((reply) => reply.text)).size).to.equal(1);
    for (const reply of replies) expect(scored(reply).usage.current).to.equal(2);
    expect(replies.filter((reply) => !isReplay(reply))).to.have.length(1);
    expect(await own.ledgerRows()).to.have.length(1);
    expect(await own.redisUsage()).to.deep.equal({ used: 2, leased: 0 });
  });

  it('returns 200 and 422 to two concurrent calls with different bodies', async () => {
    const replies = await Promise.all([own.score([lead], keyed()), own.score([lead, lead], keyed())]);
    expect(replies.map((reply) => reply.status)).to.have.members([200, 422]);
    expect(await own.ledgerRows()).to.have.length(1);
  });

  it('runs the next waiting call after a call with the same key fails', async () => {
    const small = await workspace(service, { limit: 1 });
    const bad = [{ company_size: {} }];
    const replies = await Promise.all(Array.from({ length: 6 }, () => small.score(bad, keyed())));
    for (const reply of replies) refused(reply, '400 bad_request');
    scored(await small.score([lead, lead], keyed()));
  });

  for (const bucket of ['live', 'test'] as const) {
    it(`replays the reply to a ${bucket} key without the crm_id of an erased lead`, async () => {
      const other = { ...lead, crm_id: 'L-"2' };
      const options = keyed({ key: own[bucket] });
      const first = await own.score([lead, other, lead], options);
      await own.score([lead]); // gives the test key's lead a score to erase
      const erasing = await own.call('/v1/scores/L-1', { method: 'DELETE' });
      expect(erasing.status).to.equal(204);
      const again = await own.score([lead, other, lead], options);
      expect(isReplay(again)).to.equal(true);
      const withoutLead = scored(first).scores.map(({ crm_id, ...row }) =>
        crm_id === 'L-1' ? row : { ...row, crm_id },
      );
      expect(scored(again)).to.deep.equal({ ...scored(first), scores: withoutLead });
    });
  }

  it('returns 422 for a key longer than 255 characters', async () => {
    const headersOf = (length: number) => ({ headers: { 'idempotency-key': 'k'.repeat(length) } });
    const first = await own.score([lead], headersOf(255));
    const again = await own.score([lead], headersOf(255));
    expect([isReplay(again), again.text]).to.deep.equal([true, first.text]);
    const { message } = refused(await own.score([lead], headersOf(256)), '422 bad_request').error;
    expect(message).to.include('255');
  });

  it('compares keys exactly, with case and length', async () => {
    for (const key of ['Import-7', 'import-7', 'Import-70', 'Import-7:0', 'Import-7.0', '$ne']) {
      const reply = await own.score([lead], { headers: { 'idempotency-key': key } });
      scored(reply);
      expect(isReplay(reply), key).to.equal(false);
    }
    expect(await own.ledgerSum()).to.equal(6);
  });

  it('shares keys among API keys of one kind, and keeps live and test apart', async () => {
    const live = await own.score([lead], keyed());
    const test = await own.score([lead], keyed({ key: own.test }));
    expect([isReplay(live), isReplay(test)]).to.deep.equal([false, false]);
    expect(scored(test)).to.include({ test: true });
    const [otherLive, otherTest] = [await own.addKey('live'), await own.addKey('test')];
    expect((await own.score([lead], keyed({ key: otherLive }))).text).to.equal(live.text);
    expect((await own.score([lead], keyed({ key: otherTest }))).text).to.equal(test.text);
    expect([await own.ledgerSum('live'), await own.ledgerSum('test')]).to.deep.equal([1, 1]);
  });

  it('frees the key after 24 hours, and not before', async () => {
    const first = await own.score([lead], keyed());
    const scoreIn = async (laterMs: number): Promise<HttpReply> => {
      const offsetMs = Math.ceil(service.clock.now() - Date.now() + laterMs);
      const gateway = await service.startGateway({ CLOCK_OFFSET_MS: String(offsetMs) });
      try {
        return await own.score([lead], { ...keyed(), url: gateway.url });
      } finally {
        await gateway.stop();
      }
    };
    const before = await scoreIn(dayMs - 60_000);
    expect([isReplay(before), before.text]).to.deep.equal([true, first.text]);
    const after = await scoreIn(dayMs + 1_000);
    expect(scored(after).scores[0]).to.include({ enriched: true });
    expect(isReplay(after)).to.equal(false);
    expect(await own.ledgerRows()).to.have.length(2);
  });

  it('replays the reply without counting after Redis was emptied', async function () {
    this.timeout(startTimeoutMs);
    const disposable = await sharedService('disposable');
    const there = await workspace(disposable);
    const first = await there.score([lead], keyed());
    scored(first);
    for (const node of disposable.redisNodes) await node.flushall();
    const again = await there.score([lead], keyed());
    expect([isReplay(again), again.text]).to.deep.equal([true, first.text]);
    expect(scored(await there.score([lead])).usage.current).to.equal(2);
    expect(await there.ledgerSum()).to.equal(2);
  });
});
