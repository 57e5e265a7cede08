import { expect } from 'chai';
import type { HttpReply } from '../../support/http/http-call.js';
import { type RawCall, RawConnection, requestBytes } from '../../support/http/raw-connection.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { answersHealth, loggedErrors, transportCalls } from './transport-calls.js';

describe('transport: a connection that is kept', () => {
  let service: RunningService;
  let url: string;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService({ gateways: 1, environment: { BODY_TIMEOUT_MS: '1500' } });
    url = service.url();
  });
  beforeEach(async () => {
    own = await workspace(service);
  });
  after(() => service.stop());

  const { call, goodBody, expectCounted } = transportCalls(() => own);

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

  it('is cut when what it asked for is not read', async () => {
    const connection = await RawConnection.open(url);
    connection.socket.pause();
    const asked = requestBytes({ method: 'GET', path: '/openapi.json' });
    // More than what the buffers between hold.
    for (let count = 0; count < 200; count += 1) connection.send(asked);
    const feeding = setInterval(() => connection.send('GET'), 20);
    await connection.closed.finally(() => clearInterval(feeding));
    connection.destroy();
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

  it('has made the service log no error, whatever came over it', async () => {
    expect(await loggedErrors(service)).to.deep.equal([]);
  });
});
