import { expect } from 'chai';
import { rateWindowKey } from '../../shared/redis-keys.js';
import { eventually } from '../support/eventually.js';
import type { HttpReply } from '../support/http-call.js';
import { type RawCall, RawConnection, rawCall, requestBytes } from '../support/raw-connection.js';
import { refused, scored } from '../support/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service.js';
import { type TestWorkspace, workspace } from '../support/workspace.js';
import { malformed } from './transport/malformed.js';

const bodyTimeoutMs = 1_500;
const lead = { company_size: 120 };

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

  const call = (headers: RawCall['headers'] = {}, body = goodBody()): RawCall => ({
    path: '/v1/score',
    headers: {
      Authorization: `Bearer ${own.live.secret}`,
      'Content-Type': 'application/json',
      ...headers,
    },
    body,
  });
  const goodBody = (): string => JSON.stringify({ model_id: own.model._id, records: [lead] });
  const counted = async () => ({ ledger: await own.ledgerSum(), redis: await own.redisUsage() });
  const expectCounted = (records: number) =>
    eventually(async () => {
      expect(await counted()).to.deep.equal({ ledger: records, redis: { used: records, leased: 0 } });
    });

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

    it('who never send anything are closed, and 500 of them hold nobody up', async () => {
      const idle = await Promise.all(Array.from({ length: 500 }, () => RawConnection.open(url)));
      const startMs = performance.now();
      scored(await rawCall(url, call()));
      expect(performance.now() - startMs).to.be.below(bodyTimeoutMs);
      await Promise.all(idle.map(({ closed }) => closed));
      for (const connection of idle) connection.destroy();
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

  describe('a connection that is kept', () => {
    it('serves on after a refusal: 401, 404, 405, 422 and 400 are no reason to close', async () => {
      const connection = await RawConnection.open(url);
      const answerTo = async (sent: RawCall): Promise<HttpReply> => {
        connection.send(requestBytes(sent));
        return await connection.reply();
      };
      refused(await answerTo(call({ Authorization: 'Bearer no' })), '401 invalid_api_key');
      refused(await answerTo({ ...call(), path: '/nothing' }), '404 not_found');
      refused(await answerTo({ ...call(), method: 'PUT' }), '405 method_not_allowed');
      refused(await answerTo(call({}, '{')), '422 bad_request');
      refused(await answerTo(call({ 'Content-Encoding': 'br' })), '422 bad_request');
      refused(await answerTo(call({}, goodBody().replace('120', '{}'))), '400 bad_request');
      scored(await answerTo(call()));
      connection.destroy();
      await expectCounted(1);
    });

    it('answers calls that were sent at once in their order, and what is no HTTP after them last', async () => {
      const connection = await RawConnection.open(url);
      const good = requestBytes(call());
      const bad = requestBytes(call({}, '{'));
      connection.send(Buffer.concat([good, bad, good, Buffer.from('nonsense\r\n\r\n')]));
      scored(await connection.reply());
      refused(await connection.reply(), '422 bad_request');
      scored(await connection.reply());
      refused(await connection.reply(), '400 bad_request');
      await connection.closed;
      await expectCounted(2);
    });

    it('answers what came before a call whose body is no HTTP, or before CONNECT, and only then refuses that', async () => {
      const good = requestBytes(call());
      const broken = call({ 'Transfer-Encoding': 'chunked' }, 'no chunk\r\n');
      for (const last of [broken, { ...broken, path: '/nothing' }, { method: 'CONNECT', path: 'test:443' }]) {
        const connection = await RawConnection.open(url);
        connection.send(Buffer.concat([good, good, requestBytes(last)]));
        scored(await connection.reply());
        scored(await connection.reply());
        expect((await connection.reply()).status).to.be.oneOf([400, 404]);
        await connection.closed;
        expect(connection.unread()).to.equal('');
        connection.destroy();
      }
      await expectCounted(6);
    });

    it('has its refusal to be read, also by a caller who goes on sending', async () => {
      const connection = await RawConnection.open(url);
      connection.socket.pause();
      connection.send(`GET /v1/usage HTTP/1.1\r\nX: ${'x'.repeat(20_000)}`);
      for (let piece = 0; piece < 5; piece += 1) {
        await answersHealth(url);
        connection.send('x'.repeat(20_000));
      }
      connection.socket.resume();
      const { message } = refused(await connection.reply(), '400 bad_request').error;
      expect(message).to.equal('The headers are too large.');
      connection.destroy();
    });

    it('reads to its end a body over the limit before it answers to what follows', async () => {
      const connection = await RawConnection.open(url);
      connection.send(requestBytes(call({}, 'x'.repeat(20 * 1024 * 1024))));
      connection.send(requestBytes(call({}, `${goodBody()}${' '.repeat(9 * 1024 * 1024)}`)));
      connection.send(requestBytes(call()));
      for (const _large of [1, 2]) {
        const { message } = refused(await connection.reply(), '400 bad_request').error;
        expect(message).to.match(/larger than 8388608 bytes/);
      }
      scored(await connection.reply());
      connection.destroy();
      await expectCounted(1);
    });

    it('is cut when a refused body never ends', async () => {
      for (const headers of [{ Authorization: 'Bearer no' }, { 'Content-Encoding': 'br' }]) {
        const connection = await RawConnection.open(url);
        connection.send(requestBytes(call({ ...headers, 'Transfer-Encoding': 'chunked' }, '1\r\nx\r\n')));
        expect((await connection.reply()).status).to.be.oneOf([401, 422]);
        const feeding = setInterval(() => connection.send('1\r\nx\r\n'), 20);
        await connection.closed.finally(() => clearInterval(feeding));
        expect(connection.unread()).to.equal('');
        connection.destroy();
      }
    });

    it('is closed without a second answer when a refused body breaks off', async () => {
      const connection = await RawConnection.open(url);
      connection.send(
        requestBytes(call({ Authorization: 'Bearer no', 'Transfer-Encoding': 'chunked' }, '1\r\nx\r\n')),
      );
      refused(await connection.reply(), '401 invalid_api_key');
      connection.send('no chunk\r\n');
      await connection.closed;
      expect(connection.unread()).to.equal('');
      connection.destroy();
    });
  });

  describe('all of this', () => {
    it('has made the service log no error', async () => {
      const lines = (await service.log()).split('\n').filter((line) => line.startsWith('{'));
      const errors = lines.filter((line) => (JSON.parse(line) as { level: number }).level >= 50);
      expect(errors).to.deep.equal([]);
    });
  });
});

/** A round trip: what the gateway was sent before has reached it. */
async function answersHealth(url: string): Promise<void> {
  const { status } = await rawCall(url, { method: 'GET', path: '/healthz' });
  expect(status).to.equal(200);
}
