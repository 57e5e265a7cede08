import { expect } from 'chai';
import { unknownKeysAllowed } from '../../api/auth/auth-attempts.js';
import type { ServiceProcess } from '../../scripts/servers/service-process.js';
import { newSecret } from '../../shared/contract/identifiers.js';
import { type HttpReply, httpCall } from '../support/http/http-call.js';
import { refused, scored } from '../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';

const lead = { company_size: 120 };

describe('the limit of unknown keys', () => {
  let service: RunningService;
  let own: TestWorkspace;
  /** Each gateway counts for itself. This one has got many unknown keys. */
  let flooded: ServiceProcess;
  let quiet: ServiceProcess;
  let trusting: ServiceProcess;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
    own = await workspace(service);
    [flooded, quiet, trusting] = await Promise.all([
      service.startGateway(),
      service.startGateway(),
      service.startGateway({ TRUSTED_PROXIES: '127.0.0.0/8, ::1' }),
    ]);
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await Promise.all([flooded, quiet, trusting].map((gateway) => gateway?.stop()));
  });

  const guess = (url: string, headers: Readonly<Record<string, string>> = {}): Promise<HttpReply> =>
    httpCall(`${url}/v1/score`, {
      secret: newSecret('leadscore', 'live'),
      body: { model_id: own.model._id, records: [lead] },
      headers,
    });

  async function statusesOf(calls: readonly Promise<HttpReply>[]): Promise<Record<number, number>> {
    const counts: Record<number, number> = {};
    for (const { status } of await Promise.all(calls)) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }

  it('answers unknown keys with 429 at every endpoint, but accepts keys from the same address', async () => {
    const { url = '' } = flooded;
    const guesses = Array.from({ length: 3 * unknownKeysAllowed }, () => guess(url));
    const counts = await statusesOf(guesses);
    expect(counts).to.have.all.keys('401', '429');
    expect(counts[401]).to.be.within(unknownKeysAllowed, unknownKeysAllowed + 5);
    const over = await guess(url);
    const { error } = refused(over, '429 rate_limited');
    expect(error.message).to.include('unknown API keys');
    expect(Number(over.headers.get('retry-after'))).to.be.within(1, 2);
    expect(over.headers.get('ratelimit')).to.equal(null);
    for (const path of ['/v1/usage', '/v1/models']) {
      const reading = await httpCall(`${url}${path}`, {
        method: 'GET',
        secret: newSecret('leadscore', 'test'),
      });
      refused(reading, '429 rate_limited');
    }
    const webhook = await httpCall(`${url}/v1/webhooks/score`, {
      headers: { 'x-api-key': newSecret('leadscore', 'live') },
      body: { model_id: own.model._id, ...lead },
    });
    refused(webhook, '429 rate_limited');

    // Callers behind the same NAT as a bad one: their keys are accepted during its guesses.
    const others = await Promise.all([own.addKey('live'), own.addKey('test')]);
    const flood = Array.from({ length: 100 }, () => guess(url));
    for (const key of [own.live, ...others, own.live]) scored(await own.score([lead], { url, key }));
    expect(await statusesOf(flood))
      .to.have.property('429')
      .above(90);
  });

  it('answers a malformed and a revoked key with 401, never 429', async () => {
    const { url = '' } = quiet;
    const revoked = await own.addKey('live');
    await own.revoke(revoked);
    for (const secret of ['leadscore_sk_mistyped', revoked.secret])
      for (let time = 0; time <= unknownKeysAllowed; time += 1)
        refused(await own.score([lead], { url, key: { ...revoked, secret } }), '401 invalid_api_key');
  });

  it('answers repetitions of one unknown key with 401, never 429', async () => {
    const { url = '' } = quiet;
    const key = { ...own.live, secret: newSecret('leadscore', 'live') };
    for (let time = 0; time <= 2 * unknownKeysAllowed; time += 1)
      refused(await own.score([lead], { url, key }), '401 invalid_api_key');
    expect(await statusesOf(Array.from({ length: 50 }, () => own.score([lead], { url, key })))).to.deep.equal({
      401: 50,
    });
    const guesses = Array.from({ length: 2 * unknownKeysAllowed }, () => guess(url));
    expect(await statusesOf(guesses))
      .to.have.property('401')
      .below(unknownKeysAllowed + 5);
  });

  it('takes the client address from X-Forwarded-For only if a trusted proxy sent it', async () => {
    const guesses = (url: string) =>
      Array.from({ length: 2 * unknownKeysAllowed }, (_, index) =>
        guess(url, { 'x-forwarded-for': `203.0.113.${index}` }),
      );
    expect(await statusesOf(guesses(flooded.url ?? ''))).to.have.property('429');
    expect(await statusesOf(guesses(trusting.url ?? ''))).to.deep.equal({ 401: 2 * unknownKeysAllowed });
    const spoofed = Array.from({ length: 2 * unknownKeysAllowed }, (_, index) =>
      guess(trusting.url ?? '', { 'x-forwarded-for': `198.51.100.${index}, 192.0.2.9` }),
    );
    expect(await statusesOf(spoofed)).to.have.property('429');
  });
});
