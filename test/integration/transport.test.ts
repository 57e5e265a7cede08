import { expect } from 'chai';
import { rateWindowKey } from '../../shared/redis/keys.js';
import { eventually } from '../support/eventually.js';
import type { HttpReply } from '../support/http/http-call.js';
import { RawConnection, rawCall, requestBytes } from '../support/http/raw-connection.js';
import { refused, scored } from '../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';
import { malformed } from './transport/malformed.js';
import { answersHealth, loggedErrors, transportCalls } from './transport/transport-calls.js';

const bodyTimeoutMs = 1_500;

describe('transport:', () => {
  let service: RunningService;
  let url: string;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService({ gateways: 1, environment: { BODY_TIMEOUT_MS: String(bodyTimeoutMs) } });
    url = service.url();
  });
  beforeEach(async () => {
    own = await workspace(service);
  });
  after(() => service.stop());

  const { call, goodBody, expectCounted } = transportCalls(() => own);

  describe('what is no HTTP is refused with 400 in the envelope, and the connection closed:', () => {
    for (const { name, bytes, says, ends } of malformed) {
      it(name, async () => {
        const connection = await RawConnection.open(url);
        connection.send(bytes(own.live.secret));
        if (ends === true) connection.socket.end();
        const reply = await connection.reply();
        expect(refused(reply, '400 bad_request').error.message).to.match(says);
        expect(reply.headers.get('connection')).to.equal('close');
        expect(reply.headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/);
        expect(reply.headers.get('date')).to.match(/ GMT$/);
        await connection.closed;
        expect(connection.unread()).to.equal('');
        connection.destroy();
      });
    }

    it('and nothing of it is counted', () => expectCounted(0));
  });

  describe('slow callers', () => {
    it('get 400 when headers or bodies do not arrive in time, and others are not held up', async () => {
      const head = requestBytes(call({ 'Content-Length': '400' }, '')).toString('latin1');
      const beginnings = [head.slice(0, 4), head.slice(0, 60), head, `${head}{"model_id":`];
      const slow = await Promise.all(
        Array.from({ length: 80 }, async (_, index) => {
          const connection = await RawConnection.open(url);
          const bytes = beginnings[index % beginnings.length] ?? '';
          connection.send(bytes);
          return { connection, isBody: bytes.startsWith(head) };
        }),
      );
      for (let round = 0; round < 20; round += 1) {
        const startMs = performance.now();
        scored(await rawCall(url, call()));
        expect(performance.now() - startMs).to.be.below(bodyTimeoutMs);
      }
      for (const { connection, isBody } of slow) {
        const reply = await connection.reply();
        const { message } = refused(reply, '400 bad_request').error;
        expect(message).to.match(
          isBody ? /body did not arrive within 1.5 seconds/ : /did not arrive in time/,
        );
        expect(reply.headers.get('connection')).to.equal('close');
        await connection.closed;
        connection.destroy();
      }
      await expectCounted(20);
    });

    it('are not given more time for each byte that they send', async () => {
      const drip = async (whole: Buffer, from: number): Promise<HttpReply> => {
        const connection = await RawConnection.open(url);
        connection.send(whole.subarray(0, from));
        let sent = from;
        const dripping = setInterval(() => connection.send(whole.subarray(sent, ++sent)), 20);
        const startMs = performance.now();
        const reply = await connection.reply().finally(() => clearInterval(dripping));
        expect(performance.now() - startMs).to.be.within(bodyTimeoutMs - 50, 4 * bodyTimeoutMs);
        connection.destroy();
        return reply;
      };
      const whole = requestBytes(call({ 'X-Filler': 'x'.repeat(10_000) }, ' '.repeat(10_000)));
      const replies = await Promise.all([drip(whole, 10), drip(whole, whole.indexOf('\r\n\r\n') + 4)]);
      for (const reply of replies) refused(reply, '400 bad_request');
    });

    it('who never send anything are closed without a word, and 500 of them hold nobody up', async () => {
      const idle = await Promise.all(Array.from({ length: 500 }, () => RawConnection.open(url)));
      const startMs = performance.now();
      scored(await rawCall(url, call()));
      expect(performance.now() - startMs).to.be.below(bodyTimeoutMs);
      await Promise.all(idle.map(({ closed }) => closed));
      for (const connection of idle) {
        expect(connection.unread()).to.equal('');
        connection.destroy();
      }
      await expectCounted(1);
    });
  });

  describe('callers who hang up', () => {
    it('in the middle of the upload harm nobody and are not counted', async () => {
      const whole = requestBytes(call());
      const gzipped = requestBytes(call({ 'Content-Encoding': 'gzip' }));
      const partOf = (bytes: Buffer) => bytes.subarray(0, bytes.length - 20);
      await Promise.all(
        Array.from({ length: 60 }, async (_, index) => {
          const connection = await RawConnection.open(url);
          connection.send(partOf(index % 2 === 0 ? whole : gzipped));
          if (index % 3 === 0) connection.socket.resetAndDestroy();
          else connection.destroy();
        }),
      );
      scored(await rawCall(url, call()));
      await expectCounted(1);
    });

    it('while they wait are not counted', async () => {
      const { key } = own.live;
      const bytes = requestBytes(call());
      const connection = await RawConnection.open(url);
      connection.send(bytes.subarray(0, -1));
      await eventually(async () => {
        const slots = await service.redis.zcard(rateWindowKey(own.id, key._id, 'scoring'));
        expect(slots).to.equal(1);
      });
      // Nothing is reserved while Redis takes no writes: the call waits.
      await service.redis.call('CLIENT', 'PAUSE', '10000', 'WRITE');
      try {
        connection.send(bytes.subarray(-1));
        await answersHealth(url);
        connection.destroy();
        await answersHealth(url);
      } finally {
        await service.redis.call('CLIENT', 'UNPAUSE');
      }
      // Calls that come later go through the same steps behind it.
      for (let later = 0; later < 3; later += 1) scored(await rawCall(url, call()));
      await expectCounted(3);
    });
  });

  it('a key behind two thousand other headers is read', async () => {
    const { Authorization, ...others } = call().headers as Record<string, string>;
    const many = { A: Array.from({ length: 2_000 }, () => '1'), ...others };
    refused(await rawCall(url, { ...call(), headers: many }), '401 invalid_api_key');
    scored(await rawCall(url, { ...call(), headers: { ...many, Authorization: Authorization ?? '' } }));
    await expectCounted(1);
  });

  it('chunked in capitals is read as chunked', async () => {
    const body = goodBody();
    const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    scored(await rawCall(url, call({ 'Transfer-Encoding': 'Chunked' }, chunks)));
  });

  describe('all of this', () => {
    it('has made the service log no error', async () => {
      expect(await loggedErrors(service)).to.deep.equal([]);
    });
  });
});
