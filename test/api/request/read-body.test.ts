import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { BodyMemory } from '../../../api/request/body-memory.js';
import { bodyText, CallerGone, readBody } from '../../../api/request/read-body.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { iterationsDuring } from '../../support/beats.js';
import { failureOf } from '../../support/failure-of.js';
import { type RawCall, RawConnection, requestBytes } from '../../support/http/raw-connection.js';
import { leaveOut } from '../../support/leave-out.js';

const limits = { maxBodyBytes: 1_000, bodyTimeoutMs: 200 };

describe('readBody', () => {
  const bodies = new BodyMemory(limits);
  let server: Server;
  let url: string;

  before(async () => {
    server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (typeof address !== 'object' || address === null) throw new Error('the server has no port');
    url = `http://127.0.0.1:${address.port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  /** Sends a request and gives its body or the error of reading it. `meanwhile` runs during the read. */
  async function outcome(
    call: Omit<RawCall, 'path'>,
    meanwhile: (of: { connection: RawConnection; request: IncomingMessage }) => unknown = () => undefined,
  ): Promise<unknown> {
    const connection = await RawConnection.open(url);
    try {
      connection.send(requestBytes({ path: '/', ...call }));
      const [request] = (await once(server, 'request')) as [IncomingMessage];
      const reading = readBody(request, limits, bodies.begin('org')).catch((error: unknown) => error);
      await meanwhile({ connection, request });
      const result = await reading;
      expect(request.listenerCount('data'), 'listeners left').to.equal(0);
      return result;
    } finally {
      connection.destroy();
    }
  }

  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const text = async (of: Promise<unknown>): Promise<string> => String(await of);
  const refusal = async (of: Promise<unknown>): Promise<string> => {
    const error = await of;
    if (!(error instanceof ApiError)) throw new Error(`not refused: ${String(error)}`);
    return `${error.entry.status} ${error.message}`;
  };

  it('gives the whole body, also when it is empty or chunked', async () => {
    expect(await text(outcome({ body: 'abc' }))).to.equal('abc');
    expect(await text(outcome({ body: '' }))).to.equal('');
    expect(await text(outcome({}))).to.equal('');
    const headers = { 'Transfer-Encoding': 'chunked' };
    const inParts = outcome({ headers, body: chunk('ab') }, ({ connection }) => {
      connection.send(chunk('c'));
      connection.send('0\r\n\r\n');
    });
    expect(await text(inParts)).to.equal('abc');
  });

  it('frees the chunks of a body when it has copied them', async function () {
    if (!('transfer' in ArrayBuffer.prototype)) leaveOut(this, 'Node 20 cannot free memory', 'use Node 22 or 24');
    const chunks: Buffer[] = [];
    const headers = { 'Transfer-Encoding': 'chunked' };
    const inParts = outcome({ headers, body: chunk('ab') }, ({ connection, request }) => {
      request.on('data', function keep(piece: Buffer) {
        chunks.push(piece);
        if (chunks.length === 2) request.off('data', keep);
      });
      connection.send(chunk('c'));
      connection.send('0\r\n\r\n');
    });
    expect(await text(inParts)).to.equal('abc');
    expect(chunks.map(({ length }) => length)).to.eql([0, 0]);
  });

  it('inflates gzip', async () => {
    for (const encoding of ['gzip', 'GZip', ' x-gzip ']) {
      const body = gzipSync('abc');
      expect(await text(outcome({ headers: { 'Content-Encoding': encoding }, body }))).to.equal('abc');
    }
  });

  it('accepts a body at the limit, and refuses one byte more: as sent, chunked, inflated', async () => {
    const ways: ((bytes: number) => Omit<RawCall, 'path'>)[] = [
      (bytes) => ({ body: 'x'.repeat(bytes) }),
      (bytes) => ({
        headers: { 'Transfer-Encoding': 'chunked' },
        body: `${chunk('x'.repeat(bytes - 1))}${chunk('x')}0\r\n\r\n`,
      }),
      (bytes) => ({ headers: { 'Content-Encoding': 'gzip' }, body: gzipSync('x'.repeat(bytes)) }),
    ];
    for (const way of ways) {
      expect(await text(outcome(way(1_000)))).to.have.length(1_000);
      expect(await refusal(outcome(way(1_001)))).to.match(/^400 The body is larger than 1000 bytes/);
    }
  });

  it('refuses a body with too large a Content-Length before it arrives', async () => {
    const headers = { 'Content-Length': '1001' };
    expect(await refusal(outcome({ headers }))).to.match(/^400 The body is larger than 1000 bytes/);
  });

  it('stops inflating at the limit', async () => {
    const before = process.memoryUsage().rss;
    const body = gzipSync(Buffer.alloc(900_000));
    expect(body.length).to.be.below(1_000);
    for (let bombs = 0; bombs < 200; bombs += 1) {
      const headers = { 'Content-Encoding': 'gzip' };
      expect(await refusal(outcome({ headers, body }))).to.match(/^400 The body is larger than 1000 bytes/);
    }
    expect(process.memoryUsage().rss - before).to.be.below(100 * 1024 * 1024);
  });

  it('times out, measured from the start of the body and not from its last byte', async () => {
    const startMs = performance.now();
    let dripping: NodeJS.Timeout | undefined;
    const result = outcome({ headers: { 'Content-Length': '1000' } }, async ({ connection, request }) => {
      dripping = setInterval(() => connection.send('x'), 20);
      await once(request, 'data');
    });
    try {
      // A byte every 20 ms: measured from the last byte, the timeout would not end for 20 s.
      expect(await refusal(result)).to.equal('400 The body did not arrive within 0.2 seconds.');
      expect(performance.now() - startMs).to.be.above(190);
    } finally {
      clearInterval(dripping);
    }
  });

  it('throws CallerGone if the caller hangs up or resets the connection', async () => {
    const headers = { 'Content-Length': '100' };
    const hungUp = outcome({ headers, body: 'x' }, ({ connection }) => connection.destroy());
    expect(await hungUp).to.be.instanceOf(CallerGone);
    const reset = outcome({ headers, body: 'x' }, ({ connection }) => connection.socket.resetAndDestroy());
    expect(await reset).to.be.instanceOf(CallerGone);
  });

  it('throws CallerGone at once if the caller hung up before the read', async () => {
    const connection = await RawConnection.open(url);
    connection.send(requestBytes({ path: '/', headers: { 'Content-Length': '100' }, body: 'x' }));
    const [request] = (await once(server, 'request')) as [IncomingMessage];
    const isClosed = new Promise<void>((resolve) => {
      request.on('error', () => undefined).on('close', resolve);
    });
    connection.destroy();
    await isClosed;
    const patient = { ...limits, bodyTimeoutMs: 60_000 }; // longer than this test may take
    const error = await readBody(request, patient, bodies.begin('org')).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(CallerGone);
  });

  it('refuses unknown encodings before the body arrives', async () => {
    for (const encoding of ['br', 'deflate', 'gzip, gzip', 'zstd', 'gzip;q=1']) {
      const headers = { 'Content-Encoding': encoding, 'Content-Length': '100' };
      expect(await refusal(outcome({ headers }))).to.match(/^422 The Content-Encoding must be gzip or absent/);
    }
  });

  describe('bodyText', () => {
    it('drops the byte order mark', async () => {
      expect(await bodyText(Buffer.from('\ufeff{}'))).to.equal('{}');
      expect(await bodyText(Buffer.from('{}'))).to.equal('{}');
      expect(await bodyText(Buffer.alloc(0))).to.equal('');
    });

    it('refuses bytes that are not UTF-8', async () => {
      for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]])
        expect((await failureOf(bodyText(Buffer.from(bytes)))).message).to.equal('The body must be UTF-8.');
    });

    it('decodes each megabyte in an iteration of the event loop, wherever characters begin', async () => {
      for (const start of ['', 'a', 'ab', 'abc']) {
        const sent = start + 'é語🦊'.repeat(300_000);
        const iterations = await iterationsDuring(async () => {
          expect((await bodyText(Buffer.from(sent))) === sent, start).to.equal(true);
        });
        expect(iterations, 'iterations between three megabytes').to.equal(2);
      }
    });
  });
});
