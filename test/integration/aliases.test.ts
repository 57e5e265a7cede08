import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { ServiceProcess } from '../../scripts/servers/service-process.js';
import { eventually } from '../support/eventually.js';
import { type HttpReply, httpCall } from '../support/http/http-call.js';
import { refused, scored } from '../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { type CallOptions, type TestWorkspace, workspace } from '../support/service/workspace.js';

const lead = { company_size: 120, crm_id: 'L-1' };
const successors = { '/score': '/v1/score', '/webhooks/score': '/v1/webhooks/score' } as const;
type Alias = keyof typeof successors;

/** An answer with each likelihood under the name that it has in v1. */
const inV1Names = (reply: HttpReply): unknown =>
  JSON.parse(reply.text.replaceAll('"probability":', '"conversion_likelihood":'));

describe('the aliases of before v1', () => {
  let service: RunningService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });
  beforeEach(async () => {
    own = await workspace(service);
  });

  const bodyFor = (path: string, members: object = {}): object => ({
    model_id: own.model._id,
    ...(path.includes('webhooks') ? lead : { records: [lead, lead] }),
    ...members,
  });
  const send = (path: string, body: unknown = bodyFor(path), options: CallOptions = {}): Promise<HttpReply> =>
    own.call(path, { ...options, body });

  function expectDeprecated(reply: HttpReply, alias: Alias): void {
    expect(Object.fromEntries(reply.headers)).to.include({
      deprecation: 'true',
      sunset: 'Mon, 19 Oct 2026 00:00:00 GMT',
      link: `<${successors[alias]}>; rel="successor-version"`,
    });
  }

  for (const alias of Object.keys(successors) as Alias[]) {
    const successor = successors[alias];

    describe(`POST ${alias}`, () => {
      it(`answers as ${successor} does, but calls the likelihood probability`, async () => {
        await own.score([lead]); // known from here on, so that both answers tell the same
        const reply = await send(alias);
        const modern = await send(successor);
        expect(reply.text).to.include('"probability":').and.not.include('conversion_likelihood');
        expect(modern.text).to.include('"conversion_likelihood":').and.not.include('probability":');
        const same = (answer: unknown) =>
          JSON.stringify(answer).replaceAll(/"(current|remaining|usage_remaining)":("?)[\d]+\2/g, '');
        expect(same(inV1Names(reply))).to.equal(same(JSON.parse(modern.text)));
        expectDeprecated(reply, alias);
        for (const name of ['deprecation', 'sunset', 'link'])
          expect(modern.headers.has(name)).to.equal(false);
      });

      it('is metered and recorded as its successor', async () => {
        await send(successor);
        const [each] = await own.ledgerRows();
        await send(alias);
        const rows = await own.ledgerRows();
        expect(rows.map(({ records }) => records)).to.deep.equal([each?.records, each?.records]);
        expect(await own.predictions()).to.have.length(2 * (each?.records ?? 0));
        await eventually(async () => {
          expect(await own.redisUsage()).to.deep.equal({ used: await own.ledgerSum(), leased: 0 });
        });
      });

      it('says that it is deprecated on errors too', async () => {
        const slow = await own.addKey('live', { rate: 1 });
        const off = await own.addModel({ liveApi: false });
        const free = await workspace(service, { plan: 'free' });
        const replies: [Promise<HttpReply>, `${number} ${string}`][] = [
          [send(alias, bodyFor(alias), { headers: { authorization: 'Bearer no' } }), '401 invalid_api_key'],
          [send(alias, bodyFor(alias), { key: null }), '401 invalid_api_key'],
          [send(alias, '{'), '422 bad_request'],
          [
            send(alias, bodyFor(alias, { records: [{ company_size: {} }], company_size: {} })),
            '400 bad_request',
          ],
          [send(alias, bodyFor(alias, { model_id: 'mdl_unknown' })), '404 model_not_found'],
          [send(alias, bodyFor(alias, { model_id: off._id })), '403 api_disabled'],
          [free.call(alias, { body: bodyFor(alias) }), '429 quota_exceeded'],
        ];
        for (const [reply, as] of replies) {
          refused(await reply, as);
          expectDeprecated(await reply, alias);
        }
        const burst = await Promise.all(
          Array.from({ length: 6 }, () => send(alias, bodyFor(alias), { key: slow })),
        );
        const limited = burst.filter(({ status }) => status === 429);
        expect(limited).to.not.have.length(0);
        for (const reply of limited) {
          refused(reply, '429 rate_limited');
          expectDeprecated(reply, alias);
        }
      });

      it('says so where it is called with another method', async () => {
        for (const path of [alias, `${alias}/`]) {
          const reply = await httpCall(`${service.url()}${path}`, { method: 'GET' });
          refused(reply, '405 method_not_allowed');
          expect(reply.headers.get('allow')).to.equal('POST');
          expectDeprecated(reply, alias);
        }
        const modern = await httpCall(`${service.url()}${successor}`, { method: 'GET' });
        expect(modern.headers.has('deprecation')).to.equal(false);
      });

      it('never replays an answer under its successor, nor the other way round', async () => {
        for (const [first, second] of [
          [alias, successor],
          [successor, alias],
        ] as const) {
          const options = { headers: { 'idempotency-key': randomUUID() } };
          const reply = await send(first, bodyFor(first), options);
          expect(reply.status).to.equal(200);
          refused(await send(second, bodyFor(second), options), '422 bad_request');
          const again = await send(first, bodyFor(first), options);
          expect([again.text, again.headers.get('idempotent-replayed')]).to.deep.equal([reply.text, 'true']);
        }
      });
    });
  }

  it('calls it probability in outputFields too', async () => {
    const body = bodyFor('/webhooks/score', { inputFields: lead, callbackId: randomUUID() });
    const { outputFields } = JSON.parse((await send('/webhooks/score', body)).text) as {
      outputFields: object;
    };
    expect(outputFields).to.have.property('probability').that.is.a('number');
    expect(outputFields).to.not.have.property('conversion_likelihood');
  });

  describe('when they have been switched off', () => {
    let gateway: ServiceProcess;

    before(async function () {
      this.timeout(startTimeoutMs);
      gateway = await service.startGateway({ LEGACY_ALIASES: 'gone' });
    });
    after(() => gateway.stop());

    it('are 410, whoever calls and whatever is sent, and nothing is counted', async () => {
      for (const alias of Object.keys(successors) as Alias[]) {
        for (const [body, key] of [
          [bodyFor(alias), own.live],
          [bodyFor(alias), null],
          ['{', own.live],
        ] as const) {
          const reply = await send(alias, body, { url: gateway.url, key });
          expect(refused(reply, '410 gone').error.message).to.include(successors[alias]);
          expectDeprecated(reply, alias);
          expect(reply.headers.has('x-request-id')).to.equal(true);
        }
      }
      expect(await own.ledgerSum()).to.equal(0);
    });

    it('are 410 with another method too', async () => {
      for (const alias of Object.keys(successors) as Alias[]) {
        const reply = await httpCall(`${gateway.url}${alias}`, { method: 'GET' });
        refused(reply, '410 gone');
        expectDeprecated(reply, alias);
      }
    });

    it('leave v1 as it is', async () => {
      scored(await own.score([lead], { url: gateway.url }));
    });
  });
});
