import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { type HttpReply, httpCall } from '../../support/http/http-call.js';
import { refused } from '../../support/http/score-reply.js';
import type { RunningService } from '../../support/service/service.js';
import { type CallOptions, onOwnWorkspace, type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { type Alias, bodyOf, expectDeprecated, lead, successors } from './aliases.js';

/** The answer with each likelihood under its name in v1. */
const inV1Names = (reply: HttpReply): unknown =>
  JSON.parse(reply.text.replaceAll('"probability":', '"conversion_likelihood":'));

describe('deprecated aliases', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  });

  const bodyFor = (path: string, members: object = {}): object => bodyOf(own, path, members);
  const send = (path: string, body: unknown = bodyFor(path), options: CallOptions = {}): Promise<HttpReply> =>
    own.call(path, { ...options, body });

  for (const alias of Object.keys(successors) as Alias[]) {
    const successor = successors[alias];

    describe(`POST ${alias}`, () => {
      it(`returns the reply of ${successor} with conversion_likelihood named probability`, async () => {
        await own.score([lead]); // makes the lead known to both calls
        const reply = await send(alias);
        const modern = await send(successor);
        expect(reply.text).to.include('"probability":').and.not.include('conversion_likelihood');
        expect(modern.text).to.include('"conversion_likelihood":').and.not.include('probability":');
        const same = (answer: unknown) =>
          JSON.stringify(answer).replaceAll(/"(current|remaining|usage_remaining)":("?)[\d]+\2/g, '');
        expect(same(inV1Names(reply))).to.equal(same(JSON.parse(modern.text)));
        expectDeprecated(reply, alias);
        for (const name of ['deprecation', 'sunset', 'link']) expect(modern.headers.has(name)).to.equal(false);
      });

      it(`meters and records ${alias} as ${successor}`, async () => {
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

      it(`returns deprecation headers with errors of ${alias}`, async () => {
        const slow = await own.addKey('live', { rate: 1 });
        const off = await own.addModel({ liveApi: false });
        const free = await workspace(service, { plan: 'free' });
        const replies: [Promise<HttpReply>, `${number} ${string}`][] = [
          [send(alias, bodyFor(alias), { headers: { authorization: 'Bearer no' } }), '401 invalid_api_key'],
          [send(alias, bodyFor(alias), { key: null }), '401 invalid_api_key'],
          [send(alias, '{'), '422 bad_request'],
          [send(alias, bodyFor(alias, { records: [{ company_size: {} }], company_size: {} })), '400 bad_request'],
          [send(alias, bodyFor(alias, { model_id: 'mdl_unknown' })), '404 model_not_found'],
          [send(alias, bodyFor(alias, { model_id: off._id })), '403 api_disabled'],
          [free.call(alias, { body: bodyFor(alias) }), '429 quota_exceeded'],
        ];
        for (const [reply, as] of replies) {
          refused(await reply, as);
          expectDeprecated(await reply, alias);
        }
        const burst = await Promise.all(Array.from({ length: 6 }, () => send(alias, bodyFor(alias), { key: slow })));
        const limited = burst.filter(({ status }) => status === 429);
        expect(limited).to.not.have.length(0);
        for (const reply of limited) {
          refused(reply, '429 rate_limited');
          expectDeprecated(reply, alias);
        }
      });

      it(`returns 405 with deprecation headers to GET ${alias}`, async () => {
        for (const path of [alias, `${alias}/`]) {
          const reply = await httpCall(`${service.url()}${path}`, { method: 'GET' });
          refused(reply, '405 method_not_allowed');
          expect(reply.headers.get('allow')).to.equal('POST');
          expectDeprecated(reply, alias);
        }
        const modern = await httpCall(`${service.url()}${successor}`, { method: 'GET' });
        expect(modern.headers.has('deprecation')).to.equal(false);
      });

      it(`returns 422 for an Idempotency-Key used under both ${alias} and ${successor}`, async () => {
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

  it('returns probability in outputFields of /webhooks/score', async () => {
    const body = bodyFor('/webhooks/score', { inputFields: lead, callbackId: randomUUID() });
    const { outputFields } = JSON.parse((await send('/webhooks/score', body)).text) as {
      outputFields: object;
    };
    expect(outputFields).to.have.property('probability').that.is.a('number');
    expect(outputFields).to.not.have.property('conversion_likelihood');
  });
});
