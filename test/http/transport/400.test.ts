import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect } from 'chai';
import { toleranceMs, waitedForProcessorMs } from '../../../scripts/chaos/check/watch-processors.js';
import { rateWindowKey } from '../../../shared/redis/keys.js';
import { eventually } from '../../support/eventually.js';
import type { HttpReply } from '../../support/http/http-call.js';
import { RawConnection, rawCall, requestBytes } from '../../support/http/raw-connection.js';
import { refused, scored } from '../../support/http/score-reply.js';
import type { RunningService } from '../../support/service/service.js';
import type { TestWorkspace } from '../../support/service/workspace.js';
import { malformed } from './malformed.js';
import { answersHealth, loggedErrors, onShortTimeouts, transportCalls } from './transport-calls.js';

const bodyTimeoutMs = 1_500; // of the service shortTimeouts

describe('transport', () => {
  let service: RunningService;
  let url: string;
  let own: TestWorkspace;

  onShortTimeouts((running, fresh) => {
    service = running;
    url = running.url();
    own = fresh;
  });

  const { call, goodBody, expectCounted } = transportCalls(() => own);

  describe('400 of malformed HTTP', () => {
    for (const { name, bytes, says, ends } of malformed) {
      it(`returns 400 in the error envelope and closes the connection for ${name}`, async () => {
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

    it('counts nothing of malformed HTTP', () => expectCounted(0));
  });

  /** Makes a call beside slow clients, which end after `bodyTimeoutMs`. Time without a processor is deducted. */
  async function expectQuickAnswer(): Promise<void> {
    const { pid } = service.stack.gateways[0] ?? expect.fail('no gateway');
    const [startMs, waitedMs] = [performance.now(), waitedForProcessorMs(pid) ?? 0];
    const delays = monitorEventLoopDelay({ resolution: 10 });
    delays.enable();
    scored(await rawCall(url, call()));
    delays.disable();
    const withoutProcessorMs = delays.max / 1e6 + (waitedForProcessorMs(pid) ?? 0) - waitedMs;
    expect(performance.now() - startMs).to.be.below(bodyTimeoutMs + toleranceMs(withoutProcessorMs, bodyTimeoutMs));
  }

  describe('400 of slow clients', () => {
    it('returns 400 when headers or a body arrive too late, and 200 to other clients meanwhile', async () => {
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
        await expectQuickAnswer();
      }
      for (const { connection, isBody } of slow) {
        const reply = await connection.reply();
        const { message } = refused(reply, '400 bad_request').error;
        expect(message).to.match(isBody ? /body did not arrive within 1.5 seconds/ : /did not arrive in time/);
        expect(reply.headers.get('connection')).to.equal('close');
        await connection.closed;
        connection.destroy();
      }
      await expectCounted(20);
    });

    it('returns 400 after the same time to a client that sends byte by byte', async () => {
      const drip = async (whole: Buffer, from: number): Promise<HttpReply> => {
        const startMs = performance.now();
        const connection = await RawConnection.open(url);
        connection.send(whole.subarray(0, from));
        let sent = from;
        const dripping = setInterval(() => connection.send(whole.subarray(sent, ++sent)), 20);
        const reply = await connection.reply().finally(() => clearInterval(dripping));
        expect(performance.now() - startMs).to.be.within(bodyTimeoutMs - 50, 4 * bodyTimeoutMs);
        connection.destroy();
        return reply;
      };
      const whole = requestBytes(call({ 'X-Filler': 'x'.repeat(10_000) }, ' '.repeat(10_000)));
      const replies = await Promise.all([drip(whole, 10), drip(whole, whole.indexOf('\r\n\r\n') + 4)]);
      for (const reply of replies) refused(reply, '400 bad_request');
    });

    it('returns 400 for a body of 20,000 chunks of one byte, and 200 for one of 5,000', async () => {
      const inBytes = (length: number): Buffer => {
        const { 'Content-Type': type = '', Authorization = '' } = call().headers ?? {};
        const head = `POST /v1/score HTTP/1.1\r\nHost: a\r\nAuthorization: ${Authorization}\r\nContent-Type: ${type}\r\n`;
        const chunks = [...goodBody().padEnd(length)].map((byte) => `1\r\n${byte}\r\n`).join('');
        return Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
      };
      const replyTo = async (bytes: Buffer): Promise<HttpReply> => {
        const connection = await RawConnection.open(url);
        connection.send(bytes);
        return await connection.reply().finally(() => connection.destroy());
      };
      scored(await replyTo(inBytes(5_000)));
      const reply = await replyTo(inBytes(20_000));
      expect(refused(reply, '400 bad_request').error.message).to.include('more than 5000 chunks');
      expect(reply.headers.get('connection')).to.equal('close');
      await expectCounted(1);
    });

    it('closes 500 silent connections without a reply, and returns 200 to other clients meanwhile', async () => {
      const idle = await Promise.all(Array.from({ length: 500 }, () => RawConnection.open(url)));
      await expectQuickAnswer();
      await Promise.all(idle.map(({ closed }) => closed));
      for (const connection of idle) {
        expect(connection.unread()).to.equal('');
        connection.destroy();
      }
      await expectCounted(1);
    });
  });

  describe('clients that disconnect', () => {
    it('counts nothing of clients that disconnect during the upload', async () => {
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

    it('counts nothing of a client that disconnects before the reply', async () => {
      const { key } = own.live;
      const bytes = requestBytes(call());
      const connection = await RawConnection.open(url);
      connection.send(bytes.subarray(0, -1));
      await eventually(async () => {
        const slots = await service.redis.zcard(rateWindowKey(own.id, key._id, 'scoring'));
        expect(slots).to.equal(1);
      });
      // The call waits for its reservation while Redis pauses writes.
      await service.redis.call('CLIENT', 'PAUSE', '10000', 'WRITE');
      try {
        connection.send(bytes.subarray(-1));
        await answersHealth(url);
        connection.destroy();
        await answersHealth(url);
      } finally {
        await service.redis.call('CLIENT', 'UNPAUSE');
      }
      // Later calls pass the same steps after it.
      for (let later = 0; later < 3; later += 1) scored(await rawCall(url, call()));
      await expectCounted(3);
    });
  });

  it('reads an Authorization header after two thousand other headers', async () => {
    const { Authorization, ...others } = call().headers as Record<string, string>;
    const many = { A: Array.from({ length: 2_000 }, () => '1'), ...others };
    refused(await rawCall(url, { ...call(), headers: many }), '401 invalid_api_key');
    scored(await rawCall(url, { ...call(), headers: { ...many, Authorization: Authorization ?? '' } }));
    await expectCounted(1);
  });

  it('reads Transfer-Encoding: Chunked as chunked', async () => {
    const body = goodBody();
    const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    scored(await rawCall(url, call({ 'Transfer-Encoding': 'Chunked' }, chunks)));
  });

  describe('log', () => {
    it('logs no error during the transport tests', async () => {
      expect(await loggedErrors(service)).to.deep.equal([]);
    });
  });
});
